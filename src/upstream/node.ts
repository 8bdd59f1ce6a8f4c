/** One node with an address: the state that its calls share. `stack.ts` has the order of what happens to a call. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClusterView, isRelease5, type Layout, type NodeCall } from '../core/node-call.ts'
import { layoutRules } from '../layouts/layout-rules.ts'
import { ANONYMOUS, notSent, type Send } from './call.ts'
import { CallBudget } from './call-budget.ts'
import type { DrainedNodes } from './drains.ts'
import { AgentReads } from './failure/agent-reads.ts'
import { NodeHealth } from './failure/health.ts'
import type { PassedOnCalls } from './failure/passed-on-calls.ts'
import type { LayoutState } from './layouts.ts'
import { ConcurrencyLimiter } from './limiter.ts'
import type { ClusterSettings, NodeSetting } from './options.ts'
import { type Probe, probeAlive, probeExecution } from './probes.ts'
import { createStack, failureOfUnknownLayout, type Stack } from './stack.ts'
import { reserveAttemptAt } from './tokens/failed-logins.ts'
import type { AccountOf } from './tokens/login.ts'
import { type Issue, TokenCalls, type Verification } from './tokens/token-calls.ts'
import type { Transport, TransportChanges } from './transport.ts'

export interface UpstreamNodeOptions extends ClusterSettings {
  readonly setting: NodeSetting
  readonly transport: Transport
  readonly drained: DrainedNodes
  /** The state of the node with the same name that this one replaces, if there is one. */
  readonly layoutState: LayoutState
  readonly confirmLayout?: ClusterView['confirmLayout']
  readonly passedOn: PassedOnCalls
  /** Returns the account of a call, by the credentials in use now. */
  readonly accountOf: AccountOf
  /** Called when an ejection has ended because the node answered a probe of the edge. */
  readonly onRecover: (node: string) => void
  /** Called with what `GET /` has shown, whatever it was sent for. */
  readonly onProbe: (node: string, probe: Probe) => void
  /** Called with the version in a response of the node. */
  readonly onVersion: (node: string, version: string) => void
  /** Returns the release of a node, also if it was read long ago; `undefined`: it was never read. */
  readonly releaseOf: (node: string) => string | undefined
}

const LAYOUT_TIMEOUT_MS = 3_000

const NO_TOKENS = { fault: 'unreachable', reason: 'noTokens' } as const

/** Time in which queued calls of a retired node may still start. */
const RETIREMENT_GRACE_MS = 800

export class UpstreamNode {
  readonly name: string
  readonly url: string
  readonly layout: LayoutState
  /** The version that the node has shown, until this time of the clock. */
  shownVersion?: { readonly version: string; readonly until: number }
  readonly limiter: ConcurrencyLimiter
  readonly health: NodeHealth
  readonly call: Send
  readonly #stack: Stack
  readonly #options: UpstreamNodeOptions
  #budget: CallBudget | undefined
  /** The tokens of a node end with it: a token is valid at its node only. */
  #tokenCalls: TokenCalls | undefined

  constructor(options: UpstreamNodeOptions) {
    const { setting, slots, limits, clock, counters } = options
    const { name } = setting
    this.name = name
    this.url = setting.url
    this.layout = options.layoutState
    this.#options = options
    const showsProblems = () => this.#rulesOr('v4').showsProblems
    const limiter = new ConcurrencyLimiter(name, slots, { limits, clock, budget: this.#budgetInUse })
    this.limiter = limiter
    this.health = new NodeHealth({
      ...options,
      node: name,
      showsProblems,
      onEject: (rejection, begins) => {
        limiter.rejectQueued(rejection)
        if (begins) options.onEject?.(name)
      },
      ...(options.credentials.mode === 'service' && {
        probeExecution: () => probeExecution(this.call, name, options.releaseOf(name)),
      }),
      onRecover: () => options.onRecover(name),
      reserveAttempt: (pause) => reserveAttemptAt(name, pause, counters),
      probe: async (credentials) =>
        (await this.#ask('probe', options.ejection.silence.probeTimeout, credentials)).outcome,
    })
    const agentReads = new AgentReads({ ...options, silence: this.health.silence })
    this.#stack = createStack({
      ...options,
      agentReads,
      node: name,
      layout: this.layout,
      health: this.health,
      limiter,
      tokens: () => this.#tokens,
      budget: this.#budgetInUse,
      showsProblems,
      onVersion: (version) => options.onVersion(name, version),
      release: () => options.releaseOf(name),
    })
    this.call = this.#stack.call
  }

  /** Checks the credentials of a call, which is a read that every account may send. */
  async verify(call: NodeCall): Promise<Verification> {
    const layout = this.layout.value
    const unknown = failureOfUnknownLayout(
      { node: this.name, layout: this.layout, drained: this.#options.drained },
      call,
    )
    if (unknown !== undefined) return unknown
    const result = await this.#verifyInLayout(call)
    if (result.ok || layout === undefined || result.layout === undefined) return result
    // A node that was upgraded meanwhile is asked again in its new layout.
    const isOther = await this.#options.confirmLayout?.(this.name, layout, result.layout)
    return isOther ? this.#verifyInLayout(call) : result
  }

  /** Without tokens, a node checks the credentials of each call. */
  async #verifyInLayout(call: NodeCall): Promise<Verification> {
    const tokens = this.#tokens
    if (tokens !== undefined) return tokens.verify(call)
    const result = await this.#stack.login(call)
    if (!result.ok || result.response.status === 200) return result
    return { ...notSent(call, { fault: 'refusedCredentials', reason: 'notSuccessful' }), sent: true }
  }

  /** Returns a token for the user whose credentials the call has; `refused`: the node refuses this one. */
  readonly issue: Issue = async (call, refused) => this.#tokens?.issue(call, refused) ?? notSent(call, NO_TOKENS)

  /** The rules of the layout of the node; `otherwise`: of this one while it is not known. */
  #rulesOr(otherwise: Layout): (typeof layoutRules)[Layout] {
    return layoutRules[this.layout.value ?? otherwise]
  }

  get #perMinute(): number {
    return this.#options.limits().perMinute ?? this.#rulesOr('v4').perMinute
  }

  /** Returns the budget of calls per minute; `undefined`: the node has no such limit. */
  readonly #budgetInUse = (): CallBudget | undefined => {
    if (this.#perMinute === 0) return undefined
    const { counters, clock } = this.#options
    const onChange = () => this.limiter.applyBudget()
    this.#budget ??= new CallBudget({ counters, node: this.name, limit: () => this.#perMinute, clock, onChange })
    return this.#budget
  }

  /** The tokens of the node; `undefined`: its layout has none. */
  get #tokens(): TokenCalls | undefined {
    if (!this.#rulesOr('v3').hasTokens) return undefined
    const { clock, limits, accountOf, log, counters, loginInterval, hasEndedToken, releaseOf, setting, credentials } =
      this.#options
    this.#tokenCalls ??= new TokenCalls({
      node: this.name,
      send: this.#stack.login,
      accountOf,
      timeout: () => limits().timeout,
      clock: { elapsed: clock, wall: () => Date.now() },
      sleep: (ms) => sleep(ms),
      interval: loginInterval,
      hasEnded: hasEndedToken,
      release: () => releaseOf(this.name),
      // With the credentials of callers, the first token shows the release, by which some calls are not sent.
      onLogin: () => {
        const isFirst = releaseOf(this.name) === undefined && credentials.mode === 'passthrough'
        if (isFirst && setting.type === 'master') void this.recognise()
      },
      log,
      counters,
    })
    return this.#tokenCalls
  }

  get #isAdmitting(): boolean {
    return !this.#options.drained.has(this.name) && this.health.isAdmitting
  }

  /** Whether a call may be sent now: the node is neither drained nor ejected, and its queue has space. */
  get isAvailable(): boolean {
    return this.#isAdmitting && this.limiter.admission.hasQueueSpace
  }

  /** Whether calls are sent to the node, and another one would be queued, or take the last free slot. */
  get isSaturated(): boolean {
    return this.limiter.admission.isSaturated && this.#isAdmitting
  }

  /** Calls that would start without queueing, on slots that no replica uses; 0 if the node is not available. */
  get freeSlots(): number {
    return this.isAvailable ? this.limiter.admission.free : 0
  }

  /** Milliseconds until the limit per minute permits this number of reads; Infinity: it never does. */
  waitForReads(calls: number): number {
    return this.#budgetInUse()?.waitFor('interactive', calls) ?? 0
  }

  /** Milliseconds until one more read may be sent after those in the queue and `others`. */
  waitForNextRead(others: number): number {
    return this.waitForReads(this.limiter.queue + others + 1)
  }

  /** Asks the node for its layout. */
  recognise(): Promise<Probe> {
    return this.#ask('layout', LAYOUT_TIMEOUT_MS)
  }

  async #ask(caller: string, timeout: number, credentials?: NodeCall['credentials']): Promise<Probe> {
    const probe = await probeAlive(this.#probe, {
      node: this.name,
      caller,
      timeout,
      ...(credentials && { credentials }),
    })
    this.#options.onProbe(this.name, probe)
    return probe
  }

  /**
   * Sends a probe past health and queue, on a new connection. A node of the v3 layout writes each call without
   * credentials to its log as a failed login. One of releases 4 does not, and a worker asks the master about each token.
   * Release 5.0 answers ten calls a minute without a token.
   */
  readonly #probe: Send = async (call) => {
    const tokens = this.#tokens
    const account = tokens === undefined ? this.#options.accountOf(call) : undefined
    const token = this.#probesCarryTokens ? tokens?.atHand() : undefined
    const header = token === undefined ? account && (() => account.basic()) : () => token.header()
    const authorization = header ? { header, isRenewable: false } : ANONYMOUS
    const result = await this.#stack.probe({ ...call, connection: 'new', authorization })
    if (!result.ok && result.fault === 'refusedCredentials' && token !== undefined) tokens?.atHand(token)
    return result
  }

  get #probesCarryTokens(): boolean {
    const release = this.#options.releaseOf(this.name)
    return isRelease5(release) || (release === undefined && this.#options.setting.type === 'master')
  }

  status() {
    const { queue, slots } = this.limiter
    const budget = this.#budgetInUse()?.state
    const { ejectedFor, lastFailure, hangs } = this.health
    return {
      inFlight: slots.taken,
      limit: slots.limit.value,
      slots: slots.usable,
      queue,
      ...(budget && { budget }),
      ...(ejectedFor !== undefined && { ejectedFor }),
      ...(hangs && { hangs }),
      ...(lastFailure && { lastFailure }),
    }
  }

  /** Applies changed limits, and uses these options for new connections. */
  reconfigure(changes: TransportChanges): void {
    this.limiter.applyLimits()
    this.#options.transport.reconfigure(changes)
  }

  /** Rejects new calls, and queued ones after a grace period. Calls in flight finish. */
  async retire(): Promise<void> {
    this.health.retire()
    await new Promise((resolve) => setTimeout(resolve, RETIREMENT_GRACE_MS).unref())
    this.limiter.rejectQueued(this.health.rejection(1))
    await this.#options.transport.close()
    await this.limiter.close()
    this.#budget?.close()
  }

  /** Rejects queued calls and aborts the calls in flight. */
  async destroy(): Promise<void> {
    this.health.retire()
    this.limiter.rejectQueued(this.health.rejection(1))
    this.#budget?.close()
    await Promise.all([this.#options.transport.destroy(), this.limiter.close()])
  }
}
