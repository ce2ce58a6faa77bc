"""What the paper ran: one module a table or figure, a runner, and the tables it writes."""
