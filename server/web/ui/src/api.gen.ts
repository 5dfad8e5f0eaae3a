// Made of the Go types by "go test -run TestTypes . -update". Do not edit.

export interface Problem {
  error: string
}

export interface Login {
  token: string
}

export interface LoggedIn {
  person: string
  login: string
  key: string
}

export interface Ways {
  sign_in: string
  session: boolean
}

export interface Hello {
  login: string
  nonce: string
  mac: string
}

export interface Welcome {
  channel: string
  mac: string
}

export interface Me {
  person: string
  version: string
  root?: string
  buttons: boolean
  push: boolean
  sessions: boolean
  live: boolean
  compact: boolean
  records: boolean
  trail: boolean
  take_back: boolean
  formats: string[]
  settings: Setting[]
}

export interface Setting {
  name: string
  value: string
  note?: string
}

export interface PushKey {
  key: string
}

export interface QueueEvent {
  open?: Question[]
  ended?: Closing[]
  opened?: Question
  closed?: Closing
  stored?: boolean
}

export interface Question {
  id: string
  asked: string
  expires?: string
  session: string
  client?: string
  call_id?: string
  tool: string
  path: string
  write: boolean
  before?: string
  after?: string
  size: number
  diff?: string
  files?: File[]
  notes?: string[]
  content?: string
  editable?: boolean
  native?: boolean
  command?: string
  dir?: string
  about?: string
  sub_agent?: string
  scope?: string
  why: string
  grantable?: boolean
  relay?: boolean
  again?: number
  seal: string
  action?: string
  warnings?: string[]
  added?: number
  removed?: number
}

export interface File {
  path: string
  before?: string
  after?: string
  size: number
  action?: string
}

export interface Closing {
  id: string
  how: string
  by?: string
  text: string
  path?: string
  at?: string
}

export interface Content {
  before: string
  after: string
}

export interface Answer {
  verdict: string
  seal?: string
  pattern?: string
  content?: string
  keep?: number[]
  words?: string
  by?: string
  relayed?: boolean
}

export interface Session {
  id: string
  dir?: string
  title: string
  model?: string
  source?: string
  from?: string
  relation?: string
  next?: string
  created: string
  updated: string
  events: number
  messages: number
}

export interface SessionDetail extends Session {
  conversation: Message[]
  window: Share[]
  context: Tokens
  limit?: number
  spent: Tokens
  rewinds: Rewound[]
  damaged?: string[]
  resume?: string
}

export interface Rewound {
  seq: number
  to: number
  time: string
}

export interface Next {
  until: string
  within: number
  after: number
}

export interface Message {
  seq: number
  role: string
  time?: string
  model?: string
  local?: boolean
  parts: Part[]
  used?: Tokens
}

export interface Part {
  kind: string
  name?: string
  call?: string
  text: string
  bytes: number
  failed?: boolean
}

export interface Share {
  name: string
  bytes: number
}

export interface Tokens {
  input: number
  cache_read: number
  cache_write: number
  cache_write_1h: number
  output: number
  reasoning: number
}

export interface Hit {
  session: string
  title: string
  seq: number
  time: string
  text: string
}

export interface SessionEvent {
  seq: number
  kind: string
  message?: Message
}

export interface Rewind {
  to: number
}

export interface Fork {
  at: number
}

export interface Went {
  session: string
}

export interface Conversation {
  id: string
  client?: string
  model: string
  first: string
  last: string
  requests: number
  tokens_off: number
  tokens: number
}

export interface Request {
  id: string
  time: string
  agent?: string
  model: string
  status: number
  policy: string
  observe?: boolean
  passed?: string
  bytes_in: number
  bytes_out: number
  tokens_off: number
  tokens: number
  used: Tokens
  usd?: number
  added: number
  cold?: string
  broke?: string
  limit?: number
  trims: Trim[]
  next?: Next
}

export interface Trim {
  call: string
  paths?: string[]
  reason: string
  before: number
  after: number
}

export interface Savings {
  total: Sums
  times: Point[]
  hourly: boolean
  client: Group[]
  model: Group[]
  policy: Group[]
  project: Group[]
}

export interface Sums {
  requests: number
  failed: number
  tokens_off: number
  tokens: number
  used: Tokens
  usd: number
  saved: number
  unpriced: number
}

export interface Point extends Sums {
  start: string
}

export interface Group extends Sums {
  name: string
}

export interface Spending {
  running: Running[]
  caps: Cap[]
  meters: Meter[]
}

export interface Running {
  id: string
  client?: string
  project?: string
  model: string
  first: string
  last: string
  agents: number
  requests: number
  usd: number
  per_minute: number
  unpriced: number
  stopped: boolean
}

export interface Cap {
  scope: string
  conversation?: string
  agent?: string
  client?: string
  limit: string
  spent: string
  share: number
  refused?: number
  over?: string
}

export interface Meter {
  provider: string
  limit: string
  used: number
  reset?: string
}

export interface Stop {
  id: string
  go: boolean
}

export interface Files {
  files: TouchedFile[]
  writes: Write[]
  undo: boolean
}

export interface TouchedFile {
  root: string
  path: string
  last: string
  reads: number
  writes: number
  conflicts: number
  refused: number
  sessions: string[]
}

export interface Write {
  seq: number
  time: string
  root: string
  session: string
  client?: string
  tool: string
  path: string
  action: string
  bytes: number
  open?: boolean
}

export interface OnDisk {
  root: string
  path: string
  state: string
}

export interface Undo {
  writes?: number[]
  session?: string
  name?: string
}

export interface UndoLook {
  broken: number
  why: string
  files: UndoFile[]
}

export interface UndoFile {
  root: string
  path: string
  writes: number[]
  back: string
  disk: string
  stop?: string
}

export interface TakeBack {
  session: string
  from: number
  alone?: boolean
  seal?: string
}

export interface TakenBack {
  said: string
  seal: string
}

export interface Entry {
  seq: number
  time: string
  kind: string
  intent?: number
  root?: string
  session?: string
  client?: string
  call_id?: string
  tool?: string
  path?: string
  bytes: number
  before?: string
  after?: string
  decision?: string
  by?: string
  outcome?: string
  flags?: string[]
  request?: string
  prev: string
  hash: string
}

export interface Verify {
  known?: string
}

export interface Verdict {
  entries: number
  head: string
  broken: number
  why: string
  open: number[]
}

export interface Suspended {
  session: string
  client: string
  root: string
  since: string
  flags: string[]
  lift: boolean
}

export interface Lift {
  session: string
}
