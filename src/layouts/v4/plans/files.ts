/**
 * Files: the v3 layout has one endpoint for all files of a node. The v4 layout has one for each kind, which knows
 * files by their names without folders, and only the main configuration is one of a node.
 */

import { EdgeError } from '../../../core/errors.ts'
import { isRelease5 } from '../../../core/node-call.ts'
import { ownText } from '../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerError, answerOf } from '../answer.ts'
import type { V4Call } from '../call.ts'
import type { Conversation } from '../conversation.ts'
import { RefusedError, v3Error } from '../errors.ts'
import type { Reply } from '../reply.ts'
import { uploadOf } from '../request-body.ts'

const MAIN_CONFIGURATION = 'etc/ossec.conf'
const UNREADABLE = 1005
const INVALID_XML = 1113
const INVALID_LIST = 1800
const EXISTS = 1905
const INVALID_PATH = 704

/**
 * A node returns rules and the list of their files from its own cache for 750 ms, also after a write (measured). A
 * write lasts until that cache has expired, so that no older response can be stored after it. The rest of the second is for
 * a read that the node had carried out before the write, and stores after it.
 */
const OWN_CACHE_MS = 1_000

/** A file of the ruleset, which the workers copy from the master. */
interface RulesetFile {
  readonly kind: 'rules' | 'decoders' | 'lists'
  readonly folder: string
  readonly name: string
}

export async function readFile(conversation: Conversation): Promise<Answer> {
  const file = rulesetFileOf(conversation)
  if (file !== undefined) {
    const listed = await conversation.get(listPathOf(file), { filename: file.name })
    if (listed.content.kind === 'problem' && listed.content.code !== undefined) return answerOf(conversation, listed)
    const folders = foldersOf(listed, file)
    if (!folders.includes(file.folder)) throw new RefusedError(UNREADABLE)
    if (folders.length > 1) throw impossible(`several folders have a file ${file.name}: ${folders.join(', ')}`)
  }
  const call = callOf('GET', file)
  const reply = await conversation.send({ ...call, query: { raw: 'true' }, isFile: true })
  if (reply.content.kind !== 'file') return answerOf(conversation, reply)
  const { text } = reply.content
  if (conversation.request.query.validation !== 'true') return answerData(reply, text)
  // The node parses a file that is not requested as it is.
  const parsed = await conversation.send(call)
  if (parsed.content.kind === 'problem') return answerOf(conversation, parsed)
  const code = file?.kind === 'lists' ? INVALID_LIST : INVALID_XML
  const isInvalid = parsed.content.kind === 'success' && parsed.content.failed.length > 0
  if (isInvalid) throw new RefusedError(code)
  return answerData(reply, text)
}

/** Throws 938 for a file in a folder that the v4 layout cannot write. */
export async function writeFile(conversation: Conversation): Promise<Answer> {
  const { request } = conversation
  const file = directFileOf(conversation)
  const overwrite = request.query.overwrite === 'true'
  // The main configuration always exists, and the node would replace it.
  if (file === undefined && !overwrite) throw new RefusedError(EXISTS)
  const reply = await conversation.send({
    ...callOf('PUT', file),
    // Without `wait_for_complete`, a node stops the check of its main configuration after ten seconds.
    query: { ...(file !== undefined && overwrite && { overwrite: 'true' }), ...conversation.waiting },
    body: { type: 'application/octet-stream', bytes: uploadOf(request) },
  })
  return answerWrite(conversation, reply, file)
}

/** Throws 938 for the main configuration, and for a file in a folder in which the v4 layout cannot delete. */
export async function deleteFile(conversation: Conversation): Promise<Answer> {
  const file = directFileOf(conversation)
  if (file === undefined) throw impossible('the main configuration cannot be deleted')
  return answerWrite(conversation, await conversation.send(callOf('DELETE', file)), file)
}

/** A node refuses names of files without a code. The main configuration has settings of the ruleset. */
async function answerWrite(conversation: Conversation, reply: Reply, file: RulesetFile | undefined): Promise<Answer> {
  const { content } = reply
  const changesRules = file === undefined || file.kind === 'rules'
  if (changesRules && content.kind === 'success' && content.error === 0) await conversation.pause(OWN_CACHE_MS)
  const isBadName = content.kind === 'problem' && content.status === 400 && content.code === undefined
  return isBadName ? answerError(reply, v3Error(INVALID_PATH)) : answerOf(conversation, reply)
}

/** Returns `undefined` for the main configuration. Throws 938 for a file of the ruleset of a worker. */
function rulesetFileOf({ request, about, isAboutMaster, release }: Conversation): RulesetFile | undefined {
  const path = request.query.path ?? ''
  if (path === MAIN_CONFIGURATION) return undefined
  const [, folder, kind, name] = /^((?:etc|ruleset)\/(rules|decoders|lists)(?:\/.*)?)\/([^/]+)$/.exec(path) ?? []
  if (folder === undefined || kind === undefined || name === undefined) throw new EdgeError(INVALID_PATH)
  if (isRelease5(release)) throw impossible(`release ${release} no longer has files of the ruleset`)
  if (!isAboutMaster) throw impossible(`${about} is a worker, and only its ${MAIN_CONFIGURATION} is accessible`)
  return { kind: kind as RulesetFile['kind'], folder, name }
}

/** Returns a file that is in the folder of its kind itself. */
function directFileOf(conversation: Conversation): RulesetFile | undefined {
  const file = rulesetFileOf(conversation)
  const folder = file && `etc/${file.kind}`
  if (file !== undefined && file.folder !== folder) throw impossible(`files can be changed in ${folder} only`)
  return file
}

function foldersOf({ content }: Reply, { name }: RulesetFile): readonly string[] {
  const items = content.kind === 'success' ? (content.items ?? []) : []
  return items.flatMap((item) => (ownText(item, 'filename') === name ? [ownText(item, 'relative_dirname') ?? ''] : []))
}

function listPathOf({ kind }: RulesetFile): string {
  return `/${kind}/files`
}

function callOf(method: V4Call['method'], file: RulesetFile | undefined): V4Call {
  if (file === undefined) return { method, path: '{node}/configuration', query: {} }
  return { method, path: `${listPathOf(file)}/:file`, params: { file: file.name }, query: {} }
}

function impossible(reason: string): EdgeError {
  return new EdgeError(938, ` (${reason})`)
}
