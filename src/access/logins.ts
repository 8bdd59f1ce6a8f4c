import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/timing.ts'
import type { Attempts } from './login-attempts.ts'
import type { CheckPassword } from './passwords.ts'

/**
 * Name and password of a request, decided. Clients send them with every request and bcrypt takes 50 ms, so what was
 * right is remembered for a minute as a keyed digest, and dropped at once when the line of the user changes.
 */

/** `after`: milliseconds until it is worth to come again. */
export type Login =
  /** `stands`: the same credentials from the same address need not be looked at again. */
  | { readonly ok: true; stands(): boolean }
  | { readonly ok: false; readonly reason: 'wrong' }
  | { readonly ok: false; readonly reason: 'blocked' | 'busy'; readonly after: number }

export interface LoginOptions {
  readonly check: CheckPassword
  /** What the user's credentials stand on (the line of the file); remembered credentials end when it changes. */
  standing(name: string): string | undefined
  readonly attempts: Attempts
  readonly queue: BoundedQueue
  readonly clock: Clock
}

interface Remembered {
  readonly digest: Buffer
  readonly standing: string | undefined
  /** Not put off by use: a minute after it was verified, it is verified again. */
  readonly until: number
}

const KEPT = 60_000
const USERS = 10_000
/** Strangers held back while the whole edge is under attack. */
const HELD_BACK = 256
const LONGEST_NAME = 512
const busy: Login = { ok: false, reason: 'busy', after: 1000 }
const wrong: Login = { ok: false, reason: 'wrong' }

export class Logins {
  readonly #options: LoginOptions
  readonly #keyed = keyedDigest(randomBytes(32))
  readonly #remembered = new LRUCache<string, Remembered>({ max: USERS })
  readonly #underWay = new Map<string, Promise<Login>>()
  #heldBack = 0

  constructor(options: LoginOptions) {
    this.#options = options
  }

  /** Rejects only as `check` does. */
  async login(address: string, name: string, password: string): Promise<Login> {
    if (name.length > LONGEST_NAME) return wrong
    const digest = this.#digest(name, password)
    // Forty parallel requests of one client are one attempt, not forty failures and forty hashes.
    const key = `${address} ${digest}`
    const underWay = this.#underWay.get(key)
    if (underWay !== undefined) return underWay
    // Before the memory is asked: a blocked address must not go on guessing at the speed of a digest.
    const after = this.#options.attempts.blocked(address, name)
    if (after > 0) return { ok: false, reason: 'blocked', after }
    const found = this.#remembered.get(name)
    if (found !== undefined && this.#stands(name, found) && timingSafeEqual(found.digest, Buffer.from(digest)))
      return this.#right(address, name, found)
    const attempt = this.#attempt(address, name, password, digest).finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, attempt)
    return attempt
  }

  async #attempt(address: string, name: string, password: string, digest: string): Promise<Login> {
    const { attempts, check, clock } = this.#options
    const counted = await attempts.count(address, name)
    if (!counted.allowed) return { ok: false, reason: 'blocked', after: counted.after }
    const standing = this.#options.standing(name)
    let right: boolean | undefined
    try {
      right = await this.#verified(() => check(name, password), counted)
    } catch (error) {
      await attempts.undone(address, name)
      throw error
    }
    if (right === undefined) {
      await attempts.undone(address, name)
      return busy
    }
    if (!right) return wrong
    await attempts.right(address, name)
    const found = { digest: Buffer.from(digest), standing, until: clock.elapsed() + KEPT }
    this.#remembered.set(name, found)
    return this.#right(address, name, found)
  }

  /** What is remembered is compared by itself: it holds the digest that was found equal. */
  #right(address: string, name: string, found: Remembered): Login {
    const { attempts } = this.#options
    const stands = () =>
      this.#remembered.get(name) === found && this.#stands(name, found) && attempts.blocked(address, name) <= 0
    return { ok: true, stands }
  }

  async #verified(check: () => Promise<boolean>, { delay, known }: { delay: number; known: boolean }) {
    if (delay > 0) {
      if (this.#heldBack >= HELD_BACK) return undefined
      this.#heldBack++
      await sleep(delay)
      this.#heldBack--
    }
    return this.#options.queue.run(check, known)
  }

  #stands(name: string, { until, standing }: Remembered): boolean {
    return until > this.#options.clock.elapsed() && standing === this.#options.standing(name)
  }

  /** The length stands in front, else `a` + `bc` and `ab` + `c` were the same credentials. */
  #digest(name: string, password: string): string {
    return this.#keyed(Buffer.from(`${Buffer.byteLength(name)}:${name}${password}`))
  }
}

/** Work that takes a core: at most so many at once, at most so many waiting, and those known to be right first. */
export interface BoundedQueueOptions {
  readonly atOnce: number
  /** For each of the two lanes. */
  readonly waiting: number
}

export class BoundedQueue {
  readonly #options: BoundedQueueOptions
  readonly #first: (() => void)[] = []
  readonly #others: (() => void)[] = []
  #running = 0

  constructor(options: BoundedQueueOptions) {
    this.#options = options
  }

  /** The job's own outcome, or `undefined` at once when its lane is full. Each lane has its own room: strangers cannot fill that of the known. */
  run<T>(job: () => Promise<T>, first: boolean): Promise<T> | undefined {
    const lane = first ? this.#first : this.#others
    if (this.#running < this.#options.atOnce) {
      this.#running++
      return this.#work(job)
    }
    if (lane.length >= this.#options.waiting) return undefined
    return new Promise<void>((go) => lane.push(go)).then(() => this.#work(job))
  }

  /** Hands its place to the next in line: given back and taken again, a newcomer could slip in between. */
  async #work<T>(job: () => Promise<T>): Promise<T> {
    try {
      return await job()
    } finally {
      const next = this.#first.shift() ?? this.#others.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

/** HMAC-SHA-256 (RFC 2104) of short texts, for each request: two hashes in one go cost a third of an Hmac object. */

const BLOCK = 64
const DIGEST = 32

/** Gives the function that digests; `key` has 64 bytes at most. */
export function keyedDigest(key: Buffer): (message: Buffer) => string {
  const inner = padded(key, 0x36)
  const outer = Buffer.concat([padded(key, 0x5c), Buffer.alloc(DIGEST)])
  return (message) => {
    outer.write(hash('sha256', Buffer.concat([inner, message]), 'binary'), BLOCK, 'binary')
    return hash('sha256', outer, 'base64')
  }
}

function padded(key: Buffer, pad: number): Buffer {
  const block = Buffer.alloc(BLOCK, pad)
  for (const [at, byte] of key.entries()) block[at] = byte ^ pad
  return block
}
