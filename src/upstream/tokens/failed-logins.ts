/**
 * Counts the failed logins at one node. After 50 in 300 s a node refuses all requests of an address, those with a valid
 * token included, and all callers of the edge have one address. So the edge stops before: one caller with a wrong
 * password must not shut out the others. A login counts as failed before it is sent, and no longer once it has succeeded.
 */
import type { Counters } from '../../core/counters.ts'
import { isRelease5 } from '../../core/node-call.ts'

/** The failures in `WINDOW_MS` from which no login is sent: of all together, of the name and of the address. */
interface FailureLimits {
  readonly all: number
  readonly perName: number
  readonly perAddress: number
}

/** Whose login it is. */
export interface LoginSource {
  readonly name: string
  /** Of the client, normalised. Empty: it is not known, and has neither a share nor a reserve. */
  readonly address: string
  /** The credentials are unlikely to be wrong: those of the edge, and those that the node accepted before. */
  readonly isTrusted: boolean
}

type CountedLogin =
  /** `isDecided`: logins that are in flight have no part in it. */
  | { readonly isBlocked: true; readonly blockedFor: number; readonly isDecided: boolean }
  /** To be called when the login has ended. */
  | { readonly isBlocked: false; end(outcome: 'right' | 'wrong' | 'undecided'): Promise<void> }

const WINDOW_MS = 300_000
/** Release 5.0 answers ten calls a minute without valid credentials. */
const MAX_PER_MINUTE = 8
const MINUTE_MS = 60_000
/** A login that is not decided then has failed. */
const MAX_FLIGHT_MS = 15_000
const IN_FLIGHT = '-inFlight'
/** A name that has logged in is known for this time. */
const KNOWN_MS = 24 * 3_600_000
const TRUSTED: FailureLimits = { all: 45, perName: Number.MAX_SAFE_INTEGER, perAddress: Number.MAX_SAFE_INTEGER }
/**
 * Names that were good before, and addresses without failures, have a reserve each: an attacker can use up the rest only. No
 * address and no name has more than a third of what all have together.
 */
const [UNKNOWN, ONE_OF_BOTH, KNOWN_AND_CLEAN] = [24, 34, 42]
const [SHARE, LARGER_SHARE] = [8, 12]

/** How nodes of a release count failed logins. */
interface FailureRules {
  /** Failures add up until no login was sent for the whole window, right ones included. Measured from 4.14.8 on. */
  readonly isSliding: boolean
  readonly perMinute: number
}

/** `release`: of the node; `undefined`: not known. */
function rulesOf(release: string | undefined): FailureRules {
  const hasMasterOnly = isRelease5(release)
  return {
    isSliding: hasMasterOnly || /^4\.(?:14\.(?:[89]|\d\d)|1[5-9])/.test(release ?? ''),
    perMinute: hasMasterOnly ? MAX_PER_MINUTE : Number.POSITIVE_INFINITY,
  }
}

export type FailedLogins = ReturnType<typeof createFailedLogins>

/**
 * Returns the counter of the failed logins at a node. `release`: returns the release of the node; `undefined`: not known.
 *
 * A failure is the text `time name address`, with digests of both, and `-inFlight` while it is not decided. Redis holds no
 * name: a user may type a password as a name.
 */
export function createFailedLogins(node: string, counters: Counters, release: () => string | undefined) {
  const failures = `failed:${node}`
  const latest = `${failures}:latest`
  const digestsOf = ({ name, address, isTrusted }: LoginSource): LoginDigests => {
    const digest = counters.digest(name)
    const ofAddress = address && counters.digest(address)
    const known = `${failures}:${digest}`
    return { ...rulesOf(release()), isTrusted, failures, latest, known, name: digest, address: ofAddress }
  }
  return {
    /**
     * Returns the milliseconds until a login may be sent, as far as this process knows, without the logins in flight, for which
     * a login can wait.
     */
    blockedFor: (source: LoginSource): number =>
      waitForDecided(digestsOf(source), (name) => counters.peek(name), counters.now()),
    /** Counts a login as failed, before it is sent. */
    count: async (source: LoginSource): Promise<CountedLogin> => {
      const own = digestsOf(source)
      const names = [failures, own.known, latest]
      const start = await counters.update(names, (texts, { now, weight }) => {
        const textOf = (name: string) => texts.get(name)
        const blockedFor = waitFor(own, textOf, now)
        if (blockedFor > 0) return { blockedFor, isDecided: waitForDecided(own, textOf, now) > 0, counted: [] }
        const counted = Array<string>(weight).fill(`${now} ${own.name} ${own.address}${IN_FLIGHT}`)
        const before = recentOf(own, textOf, now)
        texts.set(failures, [...before, ...counted].join(';'), WINDOW_MS)
        texts.set(latest, `${now}`, WINDOW_MS)
        return { blockedFor, isDecided: true, counted }
      })
      const { blockedFor, isDecided, counted } = start
      if (blockedFor > 0) return { isBlocked: true, blockedFor, isDecided }
      const end = (outcome: 'right' | 'wrong' | 'undecided') =>
        counters.update(names, (texts, { now }) => {
          const left = recentOf(own, (name) => texts.get(name), now)
          for (const failure of counted) {
            const decided = outcome === 'wrong' ? [failure.replace(IN_FLIGHT, '')] : []
            if (left.includes(failure)) left.splice(left.indexOf(failure), 1, ...decided)
          }
          texts.set(failures, left.join(';'), WINDOW_MS)
          if (outcome === 'right') texts.set(own.known, '1', KNOWN_MS)
        })
      return { isBlocked: false, end }
    },
    /** Forbids logins until the window has ended: the node refuses all logins of the address of the edge. */
    block: (): Promise<void> =>
      counters.update([failures, latest], (texts, { now }) => {
        texts.set(failures, Array<string>(TRUSTED.all).fill(`${now} - -`).join(';'), WINDOW_MS)
        texts.set(latest, `${now}`, WINDOW_MS)
      }),
  }
}

interface LoginDigests extends FailureRules, Pick<LoginSource, 'isTrusted'> {
  /** The counters of the failures, of the time of the latest login, and of the successes of the name. */
  readonly failures: string
  readonly latest: string
  readonly known: string
  readonly name: string
  readonly address: string
}

type TextOf = (key: string) => string

/** Returns the failures in the window, oldest first. */
function recentOf({ failures, isSliding, latest }: LoginDigests, textOf: TextOf, now: number): string[] {
  const areAll = isSliding && Number(textOf(latest)) > now - WINDOW_MS
  const start = areAll ? Number.NEGATIVE_INFINITY : now - WINDOW_MS
  return textOf(failures)
    .split(';')
    .filter((failure) => timeOf(failure) > start)
}

/** Returns the failures without the logins that are in flight. Any other text stays as it is. */
function decidedOf(text: string, now: number): string {
  const isDecided = (failure: string) => !failure.endsWith(IN_FLIGHT) || timeOf(failure) < now - MAX_FLIGHT_MS
  return text.split(';').filter(isDecided).join(';')
}

function timeOf(failure: string): number {
  return Number.parseInt(failure, 10)
}

/** As `waitFor`, as if no login were in flight. */
function waitForDecided(own: LoginDigests, textOf: TextOf, now: number): number {
  const decidedIn = (key: string) => (key === own.failures ? decidedOf(textOf(key), now) : textOf(key))
  return waitFor(own, decidedIn, now)
}

/** Returns the milliseconds until fewer failures than the limits are in the window. */
function waitFor(own: LoginDigests, textOf: TextOf, now: number): number {
  const failures = recentOf(own, textOf, now)
  const ofName = failures.filter((failure) => failure.split(' ')[1] === own.name)
  const isAddressed = own.address !== ''
  const isOfAddress = (failure: string) => failure.split(' ')[2]?.replace(IN_FLIGHT, '') === own.address
  const ofAddress = failures.filter((failure) => isAddressed && isOfAddress(failure))
  const isClean = isAddressed && ofAddress.length === 0
  const { all, perName, perAddress } = own.isTrusted ? TRUSTED : limitsFor(textOf(own.known) !== '', isClean)
  const last = [failures.at(-all), ofName.at(-perName), ofAddress.at(-perAddress)]
  const endOf = (failure: string) => (own.isSliding ? Number(textOf(own.latest)) : timeOf(failure)) + WINDOW_MS
  const inMinute = timeOf(failures.at(-own.perMinute) ?? '') + MINUTE_MS - now
  const waits = last.map((failure) => (failure ? Math.max(1, endOf(failure) - now) : 0))
  return Math.max(0, inMinute || 0, ...waits)
}

/** `isKnown`: the name has logged in before; `isClean`: its address has no failures. */
function limitsFor(isKnown: boolean, isClean: boolean): FailureLimits {
  return {
    all: isKnown && isClean ? KNOWN_AND_CLEAN : isKnown || isClean ? ONE_OF_BOTH : UNKNOWN,
    perName: isClean ? LARGER_SHARE : SHARE,
    perAddress: isKnown ? LARGER_SHARE : SHARE,
  }
}
