/** What differs between nodes of the two layouts besides the translation, and how a response shows the release of a node. */
import type { Layout, NodeResponse } from '../core/node-call.ts'
import { PROBLEM_TYPE } from '../core/origins.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'

export interface LayoutRules {
  /** Calls per minute that a node answers, of all clients together; it refuses more. 0: no limit. */
  readonly perMinute: number
  /** Whether calls carry a token, for which the edge logs in. Otherwise the node checks the credentials of each call. */
  readonly hasTokens: boolean
  /** Whether responses show that the node is at its limit, blocks the address of the edge, or hangs. */
  readonly showsProblems: boolean
  /** Whether responses depend on the rights of the account, which the node shows. */
  readonly hasRights: boolean
  /** Whether a node distributes requests by itself, whatever its settings are. */
  readonly distributes: boolean
  /** Whether a request is one call, so that a refused call means that nothing was done. */
  readonly asksOnce: boolean
  /** The path of the cheapest read that every account may send, and the version in the `data` of its response. */
  readonly versionPath: string
  readonly versionIn: (data: unknown) => unknown
  /** Whether a node of the layout may have sent this response. */
  readonly mayAnswer: (response: Pick<NodeResponse, 'type' | 'status'>) => boolean
}

export const layoutRules: Readonly<Record<Layout, LayoutRules>> = {
  v3: {
    perMinute: 0,
    hasTokens: false,
    showsProblems: false,
    hasRights: false,
    distributes: false,
    asksOnce: true,
    versionPath: '/version',
    versionIn: (data) => data,
    mayAnswer: ({ type }) => type !== PROBLEM_TYPE,
  },
  v4: {
    perMinute: 300,
    hasTokens: true,
    showsProblems: true,
    hasRights: true,
    distributes: true,
    asksOnce: false,
    versionPath: '/',
    versionIn: (data) => ownText(data, 'api_version'),
    mayAnswer: ({ type, status }) => status === 200 || status === 202 || type === PROBLEM_TYPE,
  },
}

/** Returns the rules of the setting `cluster.layout`. With `auto` nodes may have the v4 layout, which needs more care. */
export function rulesOfSetting(layout: Layout | 'auto'): LayoutRules {
  return layoutRules[layout === 'auto' ? 'v4' : layout]
}

/** Returns the version without a leading `v`; `undefined` if the response does not contain one. */
export function versionIn(response: NodeResponse, layout: Layout): string | undefined {
  const data = ownField(shortBodyOf(response), 'data')
  const text = layoutRules[layout].versionIn(data)
  return typeof text === 'string' ? /^v?([0-9]+(?:\.[0-9]+){1,3})$/.exec(text)?.[1] : undefined
}

/** A response that shows the layout or the version of a node is shorter. A longer one would block the event loop. */
const MAX_SHORT_BODY_BYTES = 16 * 1024

/** As `bodyOf`; also undefined for a longer response than those that show what a node is. */
export function shortBodyOf(response: NodeResponse): unknown {
  const { body } = response
  return Buffer.isBuffer(body) && body.length <= MAX_SHORT_BODY_BYTES ? bodyOf(response) : undefined
}

/** Returns the JSON value of a response that was read completely; `undefined` for a file, and for what is no JSON. */
export function bodyOf({ body }: NodeResponse): unknown {
  return Buffer.isBuffer(body) ? parseJson(body) : undefined
}
