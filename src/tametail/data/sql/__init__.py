"""Data in databases: questions go to the server, integers come back."""
