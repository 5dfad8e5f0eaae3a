package tool

// Code names why a file operation failed.
type Code string

// The codes that are used by the file tools and the gateway. The Read tool uses the same codes in upper case; the
// specification lists the pairs.
const (
	FileNotFound           Code = "file_not_found"
	PermissionDenied       Code = "permission_denied"
	InvalidPath            Code = "invalid_path"
	EncodingError          Code = "encoding_error"
	FileTooLarge           Code = "file_too_large"
	UserRejected           Code = "user_rejected"
	ConcurrentModification Code = "concurrent_modification"
	RateLimited            Code = "rate_limited"
	Timeout                Code = "timeout"
	HostUnavailable        Code = "host_unavailable"
	InvalidArgument        Code = "invalid_argument"
	Cancelled              Code = "cancelled"
	IsDirectory            Code = "is_directory"
	BinaryFile             Code = "binary_file"
	DiskFull               Code = "disk_full"
)

// ToolError is the code for a failure of a tool that is not stet's own.
const ToolError Code = "tool_error"
