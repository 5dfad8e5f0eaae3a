// Made of the Go types by "go test ./test/clients -run TestGenerated -update". Do not edit.

/** Version of the protocol. */
export const version = 1

/** First frame of either side, the client's first. */
export interface Hello {
  type: 'hello'
  /** protocol version: 1 */
  version: number
  /** of a client: agent or host */
  role?: string
  /** what the client calls itself, for the audit trail */
  client?: string
  /** resume, cancel, progress, parts, approval, event, repeat, admit */
  capabilities?: string[]
  /** of a host: the name it is called by; of an agent: where its calls go */
  workspace?: string
  /** client session; of a client it may be left out */
  session?: string
  /** of a host */
  tools?: Tool[]
  /** of the gateway: secret by which the session is resumed; of a client: the session to resume */
  resume?: string
  /** number of frames received in the session so far, without hello and ack */
  received?: number
  /** of the gateway: the session goes on */
  resumed?: boolean
  /** of the gateway */
  limits?: Limits
  /** of the gateway, in a session that can be resumed: it says something that often, an ack if nothing else */
  beat_seconds?: number
}

export interface Tool {
  name: string
  description?: string
  /** JSON Schema of the arguments */
  schema: Record<string, unknown>
  /** it changes nothing */
  read_only?: boolean
  /** it may overwrite or remove what is there */
  destructive?: boolean
}

/** of the gateway */
export interface Limits {
  /** largest frame */
  frame_bytes: number
  /** of one session at once; further ones wait */
  calls_in_flight: number
  /** of one workspace at once; further ones wait */
  bytes_in_flight: number
  /** of one session; further ones are rate_limited; 0 is any number */
  calls_per_minute: number
  /** of a content in parts */
  content_bytes: number
}

/** Asks for a tool to be run: agent to gateway, gateway to host. */
export interface ToolCall {
  type: 'tool_call'
  /** unique in the session */
  call_id: string
  tool_name: string
  /** JSON object */
  arguments: Record<string, unknown>
  /** a person has to be asked; set by the gateway */
  requires_confirmation?: boolean
  /** 30 if left out, 86400 at most; time spent waiting for a person does not count */
  timeout_seconds?: number
  /** 600 if left out, 86400 at most: how long a person may take */
  approval_timeout_seconds?: number
  /** to a host: whose call it is; from an agent: one of several sessions on its connection */
  session?: string
  /** to a host: who calls, as it calls itself */
  client?: string
  /** the argument content is left out and comes in parts */
  parts_follow?: boolean
  /** to a host: a content that is too large for a frame may come in parts, before the result */
  takes_parts?: boolean
  /** to a host: an absolute path that leads into the workspace is taken; the gateway does not pass it on from agents */
  absolute?: boolean
}

/** What a call came to, or that it waits for a person: host to gateway, gateway to agent. */
export interface ToolResult {
  type: 'tool_result'
  call_id: string
  /** JSON object: a FileOperationResult, or the envelope of Read */
  result?: Record<string, unknown>
  /** code, when the call failed */
  error?: string
  /** it waits for a person; the result follows */
  needs_confirmation?: boolean
}

/** Ends a call: agent to gateway, gateway to host. */
export interface Cancel {
  type: 'cancel'
  call_id: string
  /** caller, timeout or lost */
  reason?: string
}

/** How a call is doing: host to gateway, gateway to agent. To a host: a person may be asked. */
export interface Progress {
  type: 'progress'
  call_id: string
  /** working or waiting */
  state: string
  message?: string
}

/** A piece of a large content: of a write towards the host, of a read towards the agent. */
export interface Part {
  type: 'part'
  call_id: string
  /** from 0, without gaps */
  seq: number
  /** base64 of UTF-8, up to 131072 bytes */
  data: string
  /** no more follow */
  last?: boolean
}

/** Parts of a content were taken: from where they go to where they come from. */
export interface Taken {
  type: 'taken'
  call_id: string
  /** of the last part that was taken: four more may be on their way */
  seq: number
}

/** A question to a person, its answer, or its end. */
export interface Approval {
  type: 'approval'
  id: string
  call_id?: string
  question?: Question
  answer?: Answer
  withdrawn?: boolean
  /** for people */
  error?: string
  /** with error: timeout, permission_denied if no person can be asked, rate_limited where too many questions are open, or another code of a failed call */
  code?: string
}

export interface Question {
  id?: string
  asked: string
  expires?: string
  session: string
  client?: string
  call_id?: string
  tool: string
  path: string
  /** else the call would only read */
  write: boolean
  /** content hash now */
  before?: string
  /** content hash once applied */
  after?: string
  /** bytes once applied */
  size: number
  /** unified */
  diff?: string
  /** where there are several */
  files?: File[]
  notes?: string[]
  /** base64: what an edit begins with */
  content?: string
  editable?: boolean
  native?: boolean
  /** the beginning of what a shell would run */
  command?: string
  /** where it would run */
  dir?: string
  /** the session's title */
  about?: string
  sub_agent?: string
  /** what the answer session covers; none: all writes of the session, or the tool */
  scope?: string
  why: string
  /** session and pattern are answers */
  grantable?: boolean
  relay?: boolean
  /** how often it was asked before, because the file changed */
  again?: number
  /** of path, base and result; an approval has to bear it */
  seal: string
  /** read, create, change, remove, or run for a tool that is not stet's */
  action?: string
  /** what a person should know before they decide */
  warnings?: string[]
  /** lines */
  added?: number
  /** lines */
  removed?: number
}

export interface File {
  path: string
  before?: string
  after?: string
  size: number
  action?: string
}

export interface Answer {
  /** approve, session, pattern, edit, reject or cancel */
  verdict: string
  /** with approvals: of the question that was seen */
  seal?: string
  pattern?: string
  /** base64, with edit: the whole text */
  content?: string
  /** with edit, without content: the hunks to apply, from 0; the others stay as they were */
  keep?: number[]
  /** with reject: for the model */
  words?: string
  /** to a host: who answered */
  by?: string
  relayed?: boolean
}

/** Something happened that is no answer: gateway to agent. */
export interface Event {
  type: 'event'
  /** host_up, host_down, draining or session_end */
  event: string
  workspace?: string
  /** of session_end */
  session?: string
  tools?: Tool[]
  message?: string
}

/** Answers a frame that could not be understood or done. */
export interface Error {
  type: 'error'
  code: string
  message: string
  /** where it is about a call */
  call_id?: string
}

/** How many frames have been received, of a session that can be resumed. */
export interface Ack {
  type: 'ack'
  received: number
}

export type Frame = Hello | ToolCall | ToolResult | Cancel | Progress | Part | Taken | Approval | Event | Error | Ack
