/**
 * The v4 layout (releases 4.x of the manager): asks a node of that layout on behalf of a v3 request. What an
 * endpoint needs is in the translation of its record; this folder reads it. Releases of the v4 layout differ in a
 * few calls, which their records name; all other translations fit every release.
 */

import { compileMatching } from '../../collections/collect.ts'
import { CollectionError, parseCollectionRequest } from '../../collections/request.ts'
import { compileProjection } from '../../collections/select.ts'
import { type Source, sources } from '../../collections/sources.ts'
import type { Row } from '../../collections/value.ts'
import type { Plan, Translation } from '../../contracts/translations/translation.ts'
import { EdgeError } from '../../core/errors.ts'
import { isInRelease, isRelease5 } from '../../core/node-call.ts'
import { ownEntry, ownText } from '../../core/values.ts'
import type { Dialect, DialectResult } from '../dialect.ts'
import { answerError, answerOf, type RunPlan } from './answer.ts'
import { Conversation } from './conversation.ts'
import { RefusedError } from './errors.ts'
import { allAgents } from './plans/all-agents.ts'
import { restart, verdict } from './plans/every-node.ts'
import { deleteFile, readFile, writeFile } from './plans/files.ts'
import { oneCall } from './plans/one-call.ts'
import { configuration, download, info, lists, logs, rowsOfAgent } from './plans/reads.ts'
import { confirmRemoval, removeAgent } from './plans/remove-agents.ts'
import { removeGroups } from './plans/remove-groups.ts'
import { agentCounts, summary } from './plans/summaries.ts'
import { upgradeResult } from './plans/upgrade-result.ts'
import { dependsOnRelease, variantsFor } from './releases.ts'
import { EndedError, NotDoneError } from './reply.ts'

export const v4: Dialect = {
  ask: async (request, candidate, tools): Promise<DialectResult> => {
    const { endpoint } = request
    const translation = endpoint.contract === 'v3' ? endpoint.translation : undefined
    if (translation === undefined)
      throw new EdgeError(949, '', { cause: new Error(`${endpoint.path} has no translation`) })
    const conversation = new Conversation(request, translation, candidate, tools)
    try {
      await checkRelease(conversation)
      checkQuery(conversation)
      const { release } = conversation
      const result = await askOnce(conversation, translation)
      if (!conversation.isUnknownCall || !(await wasUpgraded(conversation, release))) return result
      await checkRelease(conversation)
      return await askOnce(conversation, translation)
    } catch (error) {
      if (error instanceof EndedError) return error.result
      if (error instanceof RefusedError) return answerError({}, error.error)
      if (error instanceof CollectionError)
        return answerError({}, { code: error.code, message: error.message, status: 200 })
      throw error
    }
  },
}

function askOnce(conversation: Conversation, translation: Translation): Promise<DialectResult> {
  conversation.translation = translation
  return dependsOnRelease(translation) ? askByRelease(conversation) : run(conversation, translation)
}

/**
 * Throws 938 for what the release of the node lacks. Nothing is sent to the node but the question for its release, if that was
 * never read and decides about the call.
 */
async function checkRelease(conversation: Conversation): Promise<void> {
  const { node, request, translation } = conversation
  const { releases, call } = translation
  const isOfNode = call.path.startsWith('{node}')
  if (releases === undefined && !isOfNode) return
  const name = `${call.method ?? request.endpoint.method} ${call.path.replace('{node}', '/manager')}`
  if (releases === 'none') throw new EdgeError(938, ` (${node}: no release since 4.0 has ${name})`)
  const release = conversation.release ?? (await noteVersion(conversation))
  if (isInRelease(releases, release)) return
  const lacks = isRelease5(release) ? 'no longer has' : 'does not have'
  throw new EdgeError(938, ` (${node}: release ${release} ${lacks} ${name})`)
}

/** Whether the node does not know a call because it has release 5.0 since its release was read. */
async function wasUpgraded(conversation: Conversation, before: string | undefined): Promise<boolean> {
  if (isRelease5(before)) return false
  if (!isRelease5(conversation.release)) await noteVersion(conversation)
  return isRelease5(conversation.release)
}

async function run(conversation: Conversation, { plan, confirmsRemoval }: Translation): Promise<DialectResult> {
  const result = await plans[plan ?? 'oneCall'](conversation).catch((error) => {
    if (error instanceof NotDoneError) return answerOf(conversation, error.reply)
    throw error
  })
  if (confirmsRemoval) await confirmRemoval(conversation, result)
  return result
}

/**
 * Asks in the translation for the release of the node. If the node does not know the call, it was upgraded since its
 * release was read, or its release is one that no description covers: its version is read again, and the translations of
 * the other releases are tried. The node refuses such a call before it does anything.
 */
async function askByRelease(conversation: Conversation): Promise<DialectResult> {
  const { translation } = conversation
  const tried = new Set<Translation>()
  const known = conversation.version ?? (await noteVersion(conversation))
  let [next] = variantsFor(translation, known)
  for (;;) {
    if (next === undefined) throw new Error(`no translation for version ${known}`)
    conversation.translation = next.translation
    tried.add(next.translation)
    const result = await run(conversation, next.translation)
    if (!conversation.isUnknownCall) {
      if (tried.size > 1) conversation.noteVersion(next.version)
      return result
    }
    const version = tried.size === 1 ? await noteVersion(conversation) : conversation.version
    await checkRelease(conversation)
    next = variantsFor(translation, version).find((variant) => !tried.has(variant.translation))
    if (next === undefined) return result
  }
}

/** Returns the version that the node shows now. */
async function noteVersion(conversation: Conversation): Promise<string | undefined> {
  const version = await readVersion(conversation)
  conversation.noteVersion(version)
  return version
}

/** Throws CollectionError with the code of the v3 layout. Rows without a known source are not checked. */
function checkQuery({ rows, request: { query }, translation: { call } }: Conversation): void {
  const source = ownEntry<Source>(sources, rows?.source ?? '')
  if (source === undefined) return
  const request = parseCollectionRequest(query, new Date())
  // The v3 layout fails on any `select` of some collections; the v4 one selects.
  if (source.engine === 'database') compileProjection(request.select, source)
  // Where only the sign of the sort counts, the field does not. Texts have no fields to sort by.
  const { sort, ...unsorted } = request
  const checked = call.params?.sort?.format === 'sign' ? unsorted : request
  compileMatching(checked, source, source === sources.catalogue ? [''] : [], (row: Row) => row)
}

/** Asks the node for its version; every account may. Throws as `send` does. */
async function readVersion(conversation: Conversation): Promise<string | undefined> {
  const { content } = await conversation.get('/')
  return content.kind === 'success' ? ownText(content.data, 'api_version') : undefined
}

/** The plans of the v4 layout: how many calls a request needs, and what they give together. */
const plans: Readonly<Record<Plan | 'oneCall', RunPlan>> = {
  oneCall,
  download,
  allAgents,
  removeAgent,
  removeGroups,
  rowsOfAgent,
  summary,
  agentCounts,
  upgradeResult,
  configuration,
  info,
  lists,
  logs,
  readFile,
  writeFile,
  deleteFile,
  restart,
  verdict,
}
