/** Requests to the running edge, with the rights of one account. */
import {
  connectRemedy,
  createEdgeClient,
  type EdgeClientOptions,
  LogInError,
  type ReceivedText,
  reasonOf,
  UnauthorizedError,
} from '../../tools/src/commands/edge-client.ts'
import type { EdgeCall } from './operations.ts'

/** `authorization`: the password or a token of the account. */
export type EdgeOptions = Required<Pick<EdgeClientOptions, 'url' | 'contract' | 'authorization'>> &
  Pick<EdgeClientOptions, 'ca'>

export interface Edge {
  readonly url: URL
  /** Rejects with an `EdgeFailure` if the edge cannot be reached or refuses the account. */
  send(call: EdgeCall): Promise<ReceivedText>
  close(): Promise<void>
}

/** Why nothing could be read or written, as a sentence with a remedy. */
export class EdgeFailure extends Error {}

/** Longer responses are refused: a cursor reads them in pages. */
const MAX_BYTES = 32 * 1024 * 1024

export function createEdge({ url, ...options }: EdgeOptions): Edge {
  const client = createEdgeClient({ ...options, url, maxResponseBytes: MAX_BYTES, userAgent: 'manager-edge-mcp' })
  return {
    url,
    send: async ({ method, path, contentType = '', body }) => {
      try {
        const content = body === undefined ? undefined : { type: contentType, text: body }
        const received = await client.getText(path, { method, content })
        if (received.status === 401) throw new UnauthorizedError()
        return received
      } catch (error) {
        throw failureOf(error as Error, url)
      }
    },
    close: client.close,
  }
}

function failureOf(error: Error, { origin }: URL): EdgeFailure {
  if (error instanceof UnauthorizedError)
    return new EdgeFailure(
      `The edge at ${origin} refuses the credentials of the account (401). Check the user and the password, or whether the token has ended.`,
    )
  if (error instanceof LogInError)
    return new EdgeFailure(`The login at ${origin} has status ${error.status}. Check --url and --contract.`)
  const remedy = connectRemedy(error) ?? 'check --url, and whether the edge runs'
  return new EdgeFailure(
    `The edge at ${origin} cannot be reached: ${reasonOf(error)}. ${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`,
  )
}
