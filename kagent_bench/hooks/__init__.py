"""What plugins implement and how they are found: hook specifications, entries, protocols, manager, catalog."""
