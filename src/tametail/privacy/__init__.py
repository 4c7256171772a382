"""Privacy: definitions, budgets, composition and the neighboring relation."""
