/**
 * The key of the cluster in responses of release 5.0, which shows it to accounts that may change the configuration, and `*****`
 * to all others. The account of the edge may do more than the caller, so the edge masks the key for the caller.
 */
import { Readable } from 'node:stream'
import { allows } from '../core/access.ts'
import { type ClusterView, isRelease5, type NodeCall, type NodeResponse, type NodeResult } from '../core/node-call.ts'
import { actsAsItself, type EdgeRequest } from '../core/request.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'

/** The permission to change the configuration of a node. */
const CHANGE_CONFIGURATION = 'files:write'
/** The active configuration has the key in that of the cluster. */
const WITH_KEY =
  /^GET (?:\/cluster\/local\/config|(?:\/cluster\/:node_id|\{node\})\/configuration(?:\/:component\/:configuration)?)$/
const MASK = '*****'

/** Returns the result of a call for a request, without the key if the caller must not get it. */
export async function withoutClusterKey(
  result: NodeResult,
  { endpoint, node }: NodeCall,
  { caller }: EdgeRequest,
  view: Pick<ClusterView, 'releaseOf'>,
): Promise<NodeResult> {
  if (!result.ok || !WITH_KEY.test(endpoint)) return result
  const release = view.releaseOf?.(node)
  // While the release was never read, it may be 5.0.
  if (release !== undefined && !isRelease5(release)) return result
  if (actsAsItself(caller) || allows(caller.permissions, CHANGE_CONFIGURATION)) return result
  return { ok: true, response: await masked(result.response) }
}

async function masked({ length: _, ...response }: NodeResponse): Promise<NodeResponse> {
  const { body } = response
  const bytes = Buffer.isBuffer(body) ? body : Buffer.concat(await body.toArray())
  const text = Buffer.from(response.type === 'application/json' ? maskJson(bytes) : maskXml(bytes.toString()))
  return { ...response, length: text.length, body: Buffer.isBuffer(body) ? text : Readable.from([text]) }
}

/** The rest of the text stays as the node wrote it. */
function maskJson(bytes: Buffer): string {
  const items = ownField(ownField(parseJson(bytes), 'data'), 'affected_items')
  const keys = (Array.isArray(items) ? items : []).flatMap((item) => [
    ownText(item, 'key'),
    ownText(ownField(item, 'cluster'), 'key'),
  ])
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
