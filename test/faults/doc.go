// Package faults runs three stet serve with one PostgreSQL under load, as real processes, and disturbs them: it kills and pauses
// processes, cuts and delays connections, and restarts the database. Then it checks these promises:
//
//   - the log of a session is linearizable;
//   - a write that was acknowledged was done once, another write at most once;
//   - every call ends;
//   - the chain of the audit trail verifies;
//   - the page of every person has the open questions, and no others.
//
// The seed determines the faults of a run, and is printed. It does not determine what the processes do at the time of a fault.
// STET_FAULTS_SEED repeats the faults of a run, and STET_FAULTS_RUNS is the number of runs.
package faults
