/** Calls between replicas over one channel of Redis: a request to one replica or to all of them, and their replies. */
import { randomUUID } from 'node:crypto'
import { ownField, ownText, parseJson } from '../core/values.ts'
import { redisChannels } from './options.ts'
import type { RedisReplica } from './replica.ts'

/** `from`: the id of the replica. */
interface ReplicaReply {
  readonly from: string
  readonly reply: unknown
}

export type ReplicaCalls = ReturnType<typeof createReplicaCalls>

/** Other programs may publish on this channel. */
const MAX_MESSAGE_CHARS = 4096
/** Further requests get no answer. A check of coherence sends one at a time to each replica. */
const MAX_ANSWERS_IN_PROGRESS = 64

/** Must be called before the replica starts. */
export function createReplicaCalls(replica: RedisReplica) {
  const { commands, times } = replica
  const id: string = replica.id
  const pending = new Map<string, (reply: ReplicaReply) => void>()
  let answer: ((request: unknown) => Promise<unknown>) | undefined
  let inProgress = 0

  const answerTo = async (call: string, from: string, request: unknown): Promise<void> => {
    if (answer === undefined || inProgress >= MAX_ANSWERS_IN_PROGRESS) return
    inProgress += 1
    const reply = await answer(request)
    inProgress -= 1
    publish({ call, to: from, reply })
  }
  const publish = (message: object): void => {
    const text = JSON.stringify({ ...message, from: id })
    void commands.send(times.bulkTimeout, (client) => client.publish(redisChannels.calls, text))
  }
  replica.subscribe(redisChannels.calls, (text) => {
    const message = text.length > MAX_MESSAGE_CHARS ? undefined : parseJson(text)
    const [call, from, to] = [ownText(message, 'call'), ownText(message, 'from'), ownText(message, 'to')]
    if (call === undefined || from === undefined || (to !== undefined && to !== id)) return
    const request = ownField(message, 'request')
    if (request === undefined) pending.get(call)?.({ from, reply: ownField(message, 'reply') })
    else void answerTo(call, from, request)
  })
  return {
    /** The id of this replica. Names may be equal by mistake, ids are not. */
    id,
    /** Sets what answers the requests of all replicas, this one included. It must not reject. */
    answerWith: (given: (request: unknown) => Promise<unknown>): void => {
      answer = given
    },
    /** Resolves to the replies that arrive within `ms` milliseconds, at once when there are `expected` ones. `to`: one replica. */
    call: (request: object, expected: number, ms: number, to?: string): Promise<readonly ReplicaReply[]> => {
      const call = randomUUID()
      const replies: ReplicaReply[] = []
      return new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer)
          pending.delete(call)
          resolve(replies)
        }
        const timer = setTimeout(end, ms)
        pending.set(call, (reply) => {
          replies.push(reply)
          if (replies.length === expected) end()
        })
        publish({ call, to, request })
      })
    },
  }
}
