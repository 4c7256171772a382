"""Privacy: notions, budgets, composition and the unit of protection."""
