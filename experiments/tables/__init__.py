"""The paper's tables by name, one module each."""

from experiments.declare import Table
from experiments.tables import table1, table2, table3, table4, table5

TABLES: dict[str, Table] = {module.TABLE.name: module.TABLE for module in (table1, table2, table3, table4, table5)}
