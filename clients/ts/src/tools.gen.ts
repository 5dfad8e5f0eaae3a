// Made of the Go types by "go test ./test/clients -run TestGenerated -update". Do not edit.
import type { Tool } from './wire.gen.ts'

/** What a call can fail with. */
export type Code =
  | 'file_not_found'
  | 'permission_denied'
  | 'invalid_path'
  | 'encoding_error'
  | 'file_too_large'
  | 'user_rejected'
  | 'concurrent_modification'
  | 'rate_limited'
  | 'timeout'
  | 'host_unavailable'
  | 'invalid_argument'
  | 'cancelled'
  | 'is_directory'
  | 'binary_file'
  | 'disk_full'

export interface ReadArguments {
  /** Path to the file (relative to project root). Required. */
  path: string
  /** The line number to start reading from (1-based). Default is 1. */
  start_line?: number
  /** The maximum number of lines to read. Default is 500. Hard limit is 2000. */
  limit?: number
  /** To go on inside a line that was cut. */
  start_column?: number
}

export interface ReadFileArguments {
  /** Path to the file relative to project workspace */
  path: string
  /** File encoding (default: utf-8) */
  encoding?: string
  /** Starting line number (1-based, inclusive) */
  start_line?: number
  /** Ending line number (1-based, inclusive) */
  end_line?: number
}

export interface WriteFileArguments {
  /** Path to the file relative to project workspace */
  path: string
  /** Content to write to the file */
  content: string
  /** File encoding (default: utf-8) */
  encoding?: string
  /** Create parent directories if they don't exist */
  create_dirs?: boolean
  /** Create backup before overwriting existing file */
  backup?: boolean
}

export interface EditFileArguments {
  path: string
  edits: Edit[]
  encoding?: string
}

export interface Edit {
  old_text: string
  new_text: string
  /** replace every occurrence */
  all?: boolean
}

export interface ListFilesArguments {
  path?: string
  depth?: number
  /** also ignored files */
  ignored?: boolean
  limit?: number
}

export interface FindFilesArguments {
  pattern: string
  /** directory */
  path?: string
  ignored?: boolean
  limit?: number
}

export interface SearchTextArguments {
  pattern: string
  /** pattern is RE2, not literal */
  regexp?: boolean
  ignore_case?: boolean
  /** directory or file */
  path?: string
  /** only files that match */
  glob?: string
  /** lines around */
  context?: number
  /** matches */
  limit?: number
  ignored?: boolean
}

export interface FileInfoArguments {
  path: string
}

export interface UndoArguments {
  write?: number
  from?: number
  all?: boolean
}

/** The arguments of the file tools, by name. */
export interface FileTools {
  Read: ReadArguments
  read_file: ReadFileArguments
  write_file: WriteFileArguments
  edit_file: EditFileArguments
  list_files: ListFilesArguments
  find_files: FindFilesArguments
  search_text: SearchTextArguments
  file_info: FileInfoArguments
  undo: UndoArguments
}

/** What the file tools say of themselves. */
export const fileTools: Record<keyof FileTools, Tool> = {
  Read: {
    "name": "Read",
    "description": "Reads a file from the local filesystem with line numbers. Optimized for code editing.",
    "schema": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string",
          "description": "Path to the file (relative to project root). Required."
        },
        "start_line": {
          "type": "integer",
          "description": "The line number to start reading from (1-based). Default is 1.",
          "default": 1
        },
        "limit": {
          "type": "integer",
          "description": "The maximum number of lines to read. Default is 500. Hard limit is 2000.",
          "default": 500
        },
        "start_column": {
          "type": "integer",
          "description": "To go on inside a line that was cut."
        }
      },
      "required": [
        "path"
      ]
    },
    "read_only": true
  },
  read_file: {
    "name": "read_file",
    "description": "Read content from a file on disk. Supports partial reading by line numbers.",
    "schema": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string",
          "description": "Path to the file relative to project workspace"
        },
        "encoding": {
          "type": "string",
          "description": "File encoding (default: utf-8)",
          "default": "utf-8"
        },
        "start_line": {
          "type": "integer",
          "description": "Starting line number (1-based, inclusive)",
          "minimum": 1
        },
        "end_line": {
          "type": "integer",
          "description": "Ending line number (1-based, inclusive)",
          "minimum": 1
        }
      },
      "required": [
        "path"
      ]
    },
    "read_only": true
  },
  write_file: {
    "name": "write_file",
    "description": "Write content to a file. Requires user confirmation before execution.",
    "schema": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string",
          "description": "Path to the file relative to project workspace"
        },
        "content": {
          "type": "string",
          "description": "Content to write to the file"
        },
        "encoding": {
          "type": "string",
          "description": "File encoding (default: utf-8)",
          "default": "utf-8"
        },
        "create_dirs": {
          "type": "boolean",
          "description": "Create parent directories if they don't exist",
          "default": false
        },
        "backup": {
          "type": "boolean",
          "description": "Create backup before overwriting existing file",
          "default": true
        }
      },
      "required": [
        "path",
        "content"
      ]
    },
    "destructive": true
  },
  edit_file: {
    "name": "edit_file",
    "description": "Replace pieces of a text file. Each old_text must be copied exactly and occur once in the file, unless all is true. All edits are made or none.",
    "schema": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string"
        },
        "edits": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "old_text": {
                "type": "string"
              },
              "new_text": {
                "type": "string"
              },
              "all": {
                "type": "boolean",
                "description": "replace every occurrence"
              }
            },
            "required": [
              "old_text",
              "new_text"
            ]
          }
        },
        "encoding": {
          "type": "string"
        }
      },
      "required": [
        "path",
        "edits"
      ]
    },
    "destructive": true
  },
  list_files: {
    "name": "list_files",
    "description": "List a directory. Files that git ignores are left out.",
    "schema": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string",
          "default": "."
        },
        "depth": {
          "type": "integer",
          "default": 1
        },
        "ignored": {
          "type": "boolean",
          "description": "also ignored files"
        },
        "limit": {
          "type": "integer",
          "default": 500
        }
      }
    },
    "read_only": true
  },
  find_files: {
    "name": "find_files",
    "description": "Find files by glob (**, *, ?, [a-z], {a,b}; \"!\" first: all but these). A pattern without a slash matches names in any directory.",
    "schema": {
      "type": "object",
      "properties": {
        "pattern": {
          "type": "string"
        },
        "path": {
          "type": "string",
          "description": "directory",
          "default": "."
        },
        "ignored": {
          "type": "boolean"
        },
        "limit": {
          "type": "integer",
          "default": 200
        }
      },
      "required": [
        "pattern"
      ]
    },
    "read_only": true
  },
  search_text: {
    "name": "search_text",
    "description": "Search the text of files line by line; a pattern with a line end goes over lines. Results are grouped by file: \"12:\" is a match, \"11-\" a line around it.",
    "schema": {
      "type": "object",
      "properties": {
        "pattern": {
          "type": "string"
        },
        "regexp": {
          "type": "boolean",
          "description": "pattern is RE2, not literal"
        },
        "ignore_case": {
          "type": "boolean"
        },
        "path": {
          "type": "string",
          "description": "directory or file",
          "default": "."
        },
        "glob": {
          "type": "string",
          "description": "only files that match"
        },
        "context": {
          "type": "integer",
          "description": "lines around"
        },
        "limit": {
          "type": "integer",
          "description": "matches",
          "default": 100
        },
        "ignored": {
          "type": "boolean"
        }
      },
      "required": [
        "pattern"
      ]
    },
    "read_only": true
  },
  file_info: {
    "name": "file_info",
    "description": "Facts about a file: size, time, encoding, line ends, and whether it changed since this session read it.",
    "schema": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string"
        }
      },
      "required": [
        "path"
      ]
    },
    "read_only": true
  },
  undo: {
    "name": "undo",
    "description": "Undo writes of this session: one by its number, all from a number on, or all. Without arguments lists them. Refused where a file was changed by somebody else since.",
    "schema": {
      "type": "object",
      "properties": {
        "write": {
          "type": "integer"
        },
        "from": {
          "type": "integer"
        },
        "all": {
          "type": "boolean"
        }
      }
    },
    "destructive": true
  },
}
