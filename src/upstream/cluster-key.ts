/**
 * The key of the cluster in responses of release 5.0, which shows it to accounts that may change the configuration, and `*****`
 * to all others. The account of the edge may do more than the caller, so the edge masks the key for the caller.
 */
import { Readable } from 'node:stream'
import { allows } from '../core/access.ts'
import {
  type CallNode,
  type ClusterView,
  isRelease5,
  type NodeCall,
  type NodeResponse,
  type NodeResult,
} from '../core/node-call.ts'
import { actsAsItself, type EdgeRequest } from '../core/request.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'
import { readVersion } from '../layouts/dialect.ts'

/** The permission to change the configuration of a node. */
const CHANGE_CONFIGURATION = 'files:write'
/** The active configuration has the key in that of the cluster. */
const WITH_KEY =
  /^GET (?:\/cluster\/local\/config|(?:\/cluster\/:node_id|\{node\})\/configuration(?:\/:component\/:configuration)?)$/
const MASK = '*****'

interface Ports {
  readonly call: CallNode
  readonly view: Pick<ClusterView, 'layoutOf' | 'releaseOf' | 'versions'>
}

/** Returns the result of a call for a request, without the key if the caller must not get it. */
export function withoutClusterKey(
  result: NodeResult,
  call: NodeCall,
  request: EdgeRequest,
  ports: Ports,
): NodeResult | Promise<NodeResult> {
  if (!result.ok || !WITH_KEY.test(call.endpoint) || ports.view.layoutOf(call.node) === 'v3') return result
  const { caller } = request
  if (actsAsItself(caller) || allows(caller.permissions, CHANGE_CONFIGURATION)) return result
  return mask(result.response, call, request, ports)
}

async function mask(
  { body, ...head }: NodeResponse,
  { node, timeout }: NodeCall,
  request: EdgeRequest,
  { call, view }: Ports,
): Promise<NodeResult> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.concat(await body.toArray())
  const masked = Buffer.from(head.type === 'application/json' ? maskJson(bytes) : maskXml(bytes.toString()))
  const respond = (text: Buffer): NodeResult => {
    const response = { ...head, length: text.length, body: Buffer.isBuffer(body) ? text : Readable.from([text]) }
    return { ok: true, response }
  }
  if (masked.equals(bytes)) return respond(bytes)
  // A node that was of an earlier release may have been upgraded before it sent this response.
  const isKnown = isRelease5(view.releaseOf(node))
  const release = isKnown ? undefined : await readVersion(request, node, { call, timeout, view })
  return respond(release === undefined || isRelease5(release) ? masked : bytes)
}

/** The rest of the text stays as the node wrote it. */
function maskJson(bytes: Buffer): string {
  const items = ownField(ownField(parseJson(bytes), 'data'), 'affected_items')
  // A file may have several sections of the cluster, which are a list then.
  const sections = (Array.isArray(items) ? items : []).flatMap((item) => [item, ownField(item, 'cluster')].flat())
  const keys = sections.map((section) => ownText(section, 'key'))
  return keys.reduce<string>(
    (text, key) => (key ? text.replaceAll(JSON.stringify(key), JSON.stringify(MASK)) : text),
    bytes.toString(),
  )
}

/** A tag ends before the next one begins, so that each is read once. */
const TAGS = /<!--|-->|<(\/?)(cluster|key)(?![\w.-])[^<>]*>/g

/**
 * Masks each key within a section of the cluster, also in comments. What a comment opens ends with it, and what it closes
 * was opened in it: the rest of a file that is not well-formed is masked, not shown.
 */
function maskXml(text: string): string {
  const isInCluster = { file: false, comment: false }
  let scope: keyof typeof isInCluster = 'file'
  let keyScope: keyof typeof isInCluster | undefined
  let shown = ''
  let from = 0
  for (const { 0: tag, 1: slash, 2: name, index } of text.matchAll(TAGS)) {
    if (name === undefined) {
      scope = tag === '<!--' ? 'comment' : 'file'
      isInCluster.comment = false
    } else if (tag.endsWith('/>')) continue
    else if (name === 'cluster') isInCluster[scope] = slash === ''
    else if (slash !== '' && keyScope === scope) {
      keyScope = undefined
      from = index
    } else if (slash === '' && keyScope === undefined && (isInCluster.file || isInCluster.comment)) {
      keyScope = scope
      shown += text.slice(from, index + tag.length) + MASK
    }
  }
  return keyScope === undefined ? shown + text.slice(from) : shown
}
