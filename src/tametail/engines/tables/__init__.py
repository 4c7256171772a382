"""Where columns come from: memory, frames and files."""
