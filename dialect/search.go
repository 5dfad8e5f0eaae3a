package dialect

// outputRows are tools whose results are no files: what a search found, a page
// of the web, what another agent reports, a plan that was agreed to.
var outputRows = []Row{
	{
		Name: "any/search", Op: "output",
		Tools: []string{
			"Grep", "grep", "rg", "search_file_content", "grep_search", "search_files", "search_dir", "search_file", "SearchText",
		},
	},
	{
		Name: "any/names", Op: "output",
		Tools: []string{"Glob", "glob", "glob_search", "file_glob_search", "find_files", "find_file", "FindFiles"},
	},
	{
		Name: "any/fetch", Op: "output",
		Tools: []string{"WebFetch", "WebSearch", "webfetch", "websearch", "web_fetch", "web_search", "google_web_search", "fetch_url_content"},
	},
	{
		Name: "any/agent", Op: "agent", Content: []string{"prompt", "message"},
		Tools: []string{"Agent", "Task", "task", "spawn_agent", "new_task", "runSubagent"},
	},
	{
		Name: "claude-code/ExitPlanMode", Tools: []string{"ExitPlanMode", "exit_plan_mode"}, Op: "output", Content: []string{"plan"},
		Also: []string{"allowedPrompts", "planFilePath"},
	},
}
