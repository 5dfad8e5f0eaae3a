// Package e2e runs real coding agents, unmodified and without a terminal, with a scripted model. It runs them with stet and
// without it, and with stet's file tools over MCP. The package has only tests.
//
// The agents come from npm, in the versions of agents/package.json, and are installed in $STET_E2E_CACHE (default:
// ~/.cache/stet-e2e). That needs Node 20, npm and, once, a registry. The tests themselves run in a network namespace with only a
// loopback device, so that an agent reaches only the scripted model. If one of these is missing, the tests skip and say what to
// do. With STET_E2E=require that is a failure. STET_E2E=off and -short skip all tests. STET_SOAK=1 runs more agents, with more
// formats. STET_AGENTS=all ("make agents ALL=1") installs every agent of "allAgents" in agents/package.json at two versions and at npm's
// newest, and compares their requests with stet and without (TestDoctor). That takes 8 GB, and is not for a CI.
package e2e
