"""What the admin modules of all apps share: who sees which rows, lists that stay fast, forms over services."""
