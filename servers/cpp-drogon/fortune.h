// A row of the database workload `fortunes`, for the code and the view.

#pragma once

#include <string>

struct Fortune {
    int id;
    std::string message;
};
