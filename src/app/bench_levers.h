// What each lever would do to one workload; and, when asked, whether it does.
//
// Owns: the list of levers, which of them can be run here. Must not know: how they are printed.
// Invariants: the prediction and its hash are in the report, on standard error and in predictions.txt before the run that
// it predicts begins.
#pragma once

#include "app/bench_measure.h"

namespace brass::app {

struct LeverOptions {
  const ModelFlags& model;
  std::string other;  // another file of the same model; "": none
  std::string out;    // folder that gets the predictions before they are put to the test; "": none
  bool verify = false;
  report::Workload workload;
};

// The file --other names. Errors: it cannot be loaded, or is of another model than `model`.
Result<std::unique_ptr<Model>> load_other(const ModelFlags& model_flags, const std::string& other,
                                          const Model& model);

// `report` holds the curves, the ledger and the rates of the run that measured them on `meter`.
Result<> pull_levers(const LeverOptions& options, Meter& meter, Measurement& measurement,
                     BenchProgress& progress, report::BenchReport& report);

}  // namespace brass::app
