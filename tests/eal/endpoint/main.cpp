#include "support/eal_once.h"

int main(int argc, char** argv) {
  return mqsteer::test::run_eal_tests(argc, argv);
}
