"""How datasets lie on disk."""
