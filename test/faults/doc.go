// Package faults runs three stet serve with one PostgreSQL under load, as real
// processes, and disturbs them: processes are killed and paused, connections are
// cut and held, the database is restarted. Then it checks what was promised:
//
//   - the log of a session is linearizable;
//   - a write that was acknowledged was done once, one that was not at most once;
//   - every call ends;
//   - the chain of the audit trail verifies;
//   - every person's page has the open questions, and no others.
//
// The faults of a run follow from its seed, which is printed. What they meet does not:
// the processes run as the machine lets them. STET_FAULTS_SEED repeats the faults
// of a run, STET_FAULTS_RUNS is the number of runs.
package faults
