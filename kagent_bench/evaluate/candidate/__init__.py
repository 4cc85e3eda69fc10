"""The candidate's side: the fork server and what runs, untrusted, in the forked process."""
