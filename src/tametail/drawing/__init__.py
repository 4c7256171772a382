"""What all pictures are drawn with: scales, axes, bars; SVG text, or axes of matplotlib."""
