/** One CDB list: the classic layout names it by its path, and returns only its keys and values. */
import type { Element, Row } from '../../../../query/value.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerOf } from '../answer.ts'
import { RefusedError } from '../classic-error.ts'
import { collectByEdge } from '../collections.ts'
import type { Conversation } from '../conversation.ts'
import { oneCall } from './one-call.ts'

const FOLDER = 'etc/lists/'
const WRONG_PATH = 1801
const NO_FILE = 1006

export async function lists(conversation: Conversation): Promise<Answer> {
  const { query, waitForComplete } = conversation.request
  const { path, ...others } = query
  if (path === undefined) return oneCall(conversation)
  if (!path.startsWith(FOLDER) || path.includes('./')) throw new RefusedError(WRONG_PATH)
  const slash = path.lastIndexOf('/')
  const name = { relative_dirname: path.slice(0, slash), filename: path.slice(slash + 1) }
  // The node would ignore an empty name and return any list of the folder. It refuses names of dots without a code.
  if (/^\.*$/.test(name.filename)) throw new RefusedError(NO_FILE)
  const wait = waitForComplete && { wait_for_complete: 'true' }
  const reply = await conversation.send({ method: 'GET', path: '/lists', query: { ...name, ...wait } })
  if (reply.content.kind !== 'success') return answerOf(conversation, reply)
  const list = reply.content.items?.[0] as Row | undefined
  if (list === undefined) throw new RefusedError(NO_FILE)
  const rows: Element[] = [{ path, items: list.items }]
  const items = collectByEdge(rows, others, 'lists').items.map((row) => (row as Row).items)
  return answerData(reply, { totalItems: items.length, items })
}
