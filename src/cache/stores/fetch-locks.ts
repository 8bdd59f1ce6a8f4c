/** One fill for all replicas: a lease with a token that its holder renews, and followers who hear or see that it ended. */
import { createHash, randomUUID } from 'node:crypto'
import type { TagEpochs } from '../../core/response.ts'
import type { Link, Reply } from '../../redis/connection.ts'
import { names, type Times } from '../../redis/options.ts'
import { script } from '../../redis/scripts.ts'

import type { FetchLock } from './contract.ts'

export interface ClaimsOptions {
  readonly link: Link
  readonly times: Times
  readonly trusted: () => boolean
  readonly onReply: (reply: Reply<unknown>) => void
}

/** Whoever cannot ask Redis fills for itself. */
const ALONE: FetchLock = { held: true, release: async () => {} }

export class Claims {
  readonly #options: ClaimsOptions
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #renewals = new Set<NodeJS.Timeout>()

  constructor(options: ClaimsOptions) {
    this.#options = options
  }

  async claim(key: string, mark: TagEpochs, patience: number): Promise<FetchLock> {
    const { link, times, trusted, onReply } = this.#options
    if (!trusted()) return ALONE
    const name = `${key}:${digest(mark)}`
    // Before the claim is tried: it may end between the refusal and the first listening.
    const wait = this.#wait(name)
    const token = randomUUID()
    const reply = await link.step(times.command, (client) =>
      client.set(names.claim(name), token, 'PX', Math.ceil(patience), 'NX'),
    )
    onReply(reply)
    if (reply.ok && reply.value === null) return { held: false, settled: this.#watch(name, wait, patience) }
    wait.end()
    if (reply.ok) return this.#hold(name, token, patience)
    void this.#release(name, token)
    return ALONE
  }

  /** Somebody said that a claim ended. */
  settled(name: string): void {
    for (const end of [...(this.#waiting.get(name) ?? [])]) end()
  }

  close(): void {
    for (const timer of this.#renewals) clearInterval(timer)
    for (const name of [...this.#waiting.keys()]) this.settled(name)
  }

  #hold(name: string, token: string, patience: number): FetchLock {
    const { link, times } = this.#options
    const renew = () => link.run(renewClaim, [names.claim(name)], [token, Math.ceil(patience)], times.slow)
    const timer = setInterval(() => void renew(), patience / 3)
    timer.unref()
    this.#renewals.add(timer)
    return {
      held: true,
      release: async () => {
        clearInterval(timer)
        this.#renewals.delete(timer)
        await this.#release(name, token)
      },
    }
  }

  async #release(name: string, token: string): Promise<void> {
    const { link, times } = this.#options
    await link.run(releaseClaim, [names.claim(name)], [token, names.settled, name], times.slow)
  }

  /** Looks from time to time as well: a message may be lost, and a holder that died says nothing. */
  async #watch(name: string, wait: Wait, patience: number): Promise<void> {
    const { link, times } = this.#options
    const look = async () => {
      const reply = await link.step(times.command, (client) => client.exists(names.claim(name)))
      if (!reply.ok || reply.value === 0) wait.end()
    }
    const timer = setInterval(() => void look(), Math.min(500, Math.max(times.command, patience / 8)))
    await wait.ended
    clearInterval(timer)
  }

  #wait(name: string): Wait {
    let resolve = () => {}
    const ended = new Promise<void>((done) => {
      resolve = done
    })
    const waiting = this.#waiting.get(name) ?? new Set()
    const end = () => {
      waiting.delete(end)
      if (waiting.size === 0 && this.#waiting.get(name) === waiting) this.#waiting.delete(name)
      resolve()
    }
    this.#waiting.set(name, waiting.add(end))
    return { ended, end }
  }
}

interface Wait {
  readonly ended: Promise<void>
  end(): void
}

/** A flight that began before a write is another one than the flight after it. */
function digest(mark: TagEpochs): string {
  const text = JSON.stringify([mark.generation, ...mark.epochs])
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** KEYS: claim. ARGV: token, milliseconds. 1 while it is held by this token. */
export const renewClaim = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

/** KEYS: claim. ARGV: token, channel, what followers wait for. */
export const releaseClaim = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1`)
