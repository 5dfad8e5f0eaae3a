import type { Code } from './tools.gen.ts'

/**
 * A call that failed in a way that its caller can act on. A host's tool throws it;
 * an agent's call rejects with it. `internal_error` is something that broke.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: Code | 'internal_error'
  /** The whole result, where there is one. */
  readonly result?: Record<string, unknown>

  constructor(code: Code | 'internal_error', message: string, result?: Record<string, unknown>) {
    super(message)
    this.code = code
    this.result = result
  }
}

/**
 * Why a session is over for good:
 *
 * - `token`: the gateway does not know the token, or not any more
 * - `forbidden`: it refuses this page's origin, this host name, role or workspace
 * - `version`: it speaks another version of the protocol
 * - `taken`: another host has the workspace, or took it over
 * - `url`: there is no gateway at this address
 * - `large`: what a host says of its tools is larger than the gateway takes
 * - `closed`: close was called
 */
export type Reason = 'token' | 'forbidden' | 'version' | 'taken' | 'url' | 'large' | 'closed'

/** The gateway refuses, and another try has no sense; or the session was closed. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.reason = reason
  }
}
