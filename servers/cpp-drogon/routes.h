// The parts of the server that are in separate files.

#pragma once

#include <string>

// The value of a variable of the environment; the server ends without it.
std::string variable(const char *name);

// Connects to the database and adds the four paths that need it.
void add_database_routes();
