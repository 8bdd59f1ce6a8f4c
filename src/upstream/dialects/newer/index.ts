/**
 * The newer layout (releases 4.x of the manager): asks a node of that layout on behalf of a classic request. What an
 * endpoint needs is in the translation of its record; this folder reads it.
 */
import type { Translation } from '../../../catalogue/newer/translation.ts'
import { EdgeError } from '../../../core/errors.ts'
import type { EdgeRequest } from '../../../core/request.ts'
import { ownEntry } from '../../../core/values.ts'
import { compilePredicates } from '../../../query/collect.ts'
import { parseSorting } from '../../../query/order.ts'
import { CollectionError, parseCollectionRequest } from '../../../query/request.ts'
import { compileProjection } from '../../../query/select.ts'
import { type Source, sources } from '../../../query/sources.ts'
import type { Dialect, DialectResult } from '../dialect.ts'
import { answerError } from './answer.ts'
import { RefusedError } from './classic-error.ts'
import { CallFailedError, Conversation, UnreadableReplyError } from './conversation.ts'
import { confirmRemoval } from './plans/delayed.ts'
import { plans } from './plans/index.ts'
import { dependsOnRelease, readVersion, variantsFor } from './releases.ts'

export const newer: Dialect = {
  ask: async (request, candidate, tools): Promise<DialectResult> => {
    const { newer: translation, path } = request.endpoint
    if (translation === undefined) throw new EdgeError(949, '', { cause: new Error(`${path} has no translation`) })
    const conversation = new Conversation(request, translation, candidate, tools)
    try {
      checkQuery(request, translation)
      if (dependsOnRelease(translation)) return await askByRelease(conversation)
      return await run(conversation, translation)
    } catch (error) {
      if (error instanceof CallFailedError) return error.failure
      if (error instanceof UnreadableReplyError) {
        return { ok: true, response: error.response, translated: { ok: false, reason: error.message } }
      }
      if (error instanceof RefusedError) return answerError({}, error.error)
      if (error instanceof CollectionError)
        return answerError({}, { code: error.code, message: error.message, status: 200 })
      throw error
    }
  },
}

async function run(conversation: Conversation, { plan, confirmsRemoval }: Translation): Promise<DialectResult> {
  const result = await plans[plan ?? 'oneCall'](conversation)
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

/** Throws CollectionError with the code of the classic layout. Rows without a known source are not checked. */
function checkQuery({ query }: EdgeRequest, { call, response }: Translation): void {
  const rows = 'rows' in response ? response.rows : undefined
  const source = ownEntry<Source>(sources, rows?.source ?? '')
  if (source === undefined) return
  const request = parseCollectionRequest(query, new Date())
  // The classic layout fails on any `select` of some collections; the newer one selects.
  if (source.engine === 'database') compileProjection(request.select, source)
  // Texts have no fields to sort by. Where only the sign of the sort counts, the field does not.
  if (call.params?.sort?.format !== 'sign') {
    parseSorting(request.sort, source, source === sources.catalogue ? [''] : [])
  }
  compilePredicates(request, source)
}
