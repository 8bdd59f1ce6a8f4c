/**
 * The credentials of calls to one node: a token if its layout has tokens, otherwise name and password. Checks the credentials of
 * callers at the node.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClusterView, isRelease5, type NodeCall } from '../../core/node-call.ts'
import { layoutRules } from '../../layouts/layout-rules.ts'
import { ANONYMOUS, notSent, type Send } from '../call.ts'
import type { DrainedNodes } from '../drains.ts'
import type { LayoutState } from '../layouts.ts'
import type { ClusterSettings, NodeSetting } from '../options.ts'
import { failureOfUnknownLayout, type Stack } from '../stack.ts'
import type { AccountOf } from './login.ts'
import { type Issue, TokenCalls, type Verification } from './token-calls.ts'

const NO_TOKENS = { fault: 'unreachable', reason: 'noTokens' } as const

export interface AuthorizerOptions extends ClusterSettings {
  readonly setting: NodeSetting
  readonly drained: DrainedNodes
  /** The state of the node with the same name that this one replaces, if there is one. */
  readonly layoutState: LayoutState
  readonly confirmLayout?: ClusterView['confirmLayout']
  /** Returns the account of a call, by the credentials in use now. */
  readonly accountOf: AccountOf
  /** Returns the release of a node, also if it was read long ago; `undefined`: it was never read. */
  readonly releaseOf: (node: string) => string | undefined
}

interface AuthorizerPorts {
  readonly stack: () => Stack
  /** Asks the node for its layout, and its release. */
  readonly recognise: () => void
}

export class Authorizer {
  readonly #options: AuthorizerOptions
  readonly #ports: AuthorizerPorts
  /** The tokens of a node end with it: a token is valid at its node only. */
  #tokenCalls: TokenCalls | undefined

  constructor(options: AuthorizerOptions, ports: AuthorizerPorts) {
    this.#options = options
    this.#ports = ports
  }

  get #node(): string {
    return this.#options.setting.name
  }

  /** The tokens of the node; `undefined`: its layout has none. */
  get tokens(): TokenCalls | undefined {
    const { clock, layoutState, releaseOf, setting, credentials } = this.#options
    if (!layoutRules[layoutState.value ?? 'v3'].hasTokens) return undefined
    this.#tokenCalls ??= new TokenCalls({
      ...this.#options,
      node: this.#node,
      send: (call) => this.#ports.stack().login(call),
      clock: { elapsed: clock, wall: () => Date.now() },
      sleep: (ms) => sleep(ms),
      release: () => releaseOf(this.#node),
      // With the credentials of callers, the first token shows the release, by which some calls are not sent.
      onLogin: () => {
        const isFirst = releaseOf(this.#node) === undefined && credentials.mode === 'passthrough'
        if (isFirst && setting.type === 'master') this.#ports.recognise()
      },
    })
    return this.#tokenCalls
  }

  /** Checks the credentials of a call, which is a read that every account may send. */
  async verify(call: NodeCall): Promise<Verification> {
    const { layoutState, drained, confirmLayout } = this.#options
    const layout = layoutState.value
    const unknown = failureOfUnknownLayout({ node: this.#node, layout: layoutState, drained }, call)
    if (unknown !== undefined) return unknown
    const result = await this.#verifyInLayout(call)
    if (result.ok || layout === undefined || result.layout === undefined) return result
    // A node that was upgraded meanwhile is asked again in its new layout.
    const isOther = await confirmLayout?.(this.#node, layout, result.layout)
    return isOther ? this.#verifyInLayout(call) : result
  }

  /** Without tokens, a node checks the credentials of each call. */
  async #verifyInLayout(call: NodeCall): Promise<Verification> {
    const { tokens } = this
    if (tokens !== undefined) return tokens.verify(call)
    const result = await this.#ports.stack().login(call)
    if (!result.ok || result.response.status === 200) return result
    return { ...notSent(call, { fault: 'refusedCredentials', reason: 'notSuccessful' }), sent: true }
  }

  /** Returns a token for the user whose credentials the call has; `refused`: the node refuses this one. */
  readonly issue: Issue = async (call, refused) => this.tokens?.issue(call, refused) ?? notSent(call, NO_TOKENS)

  /**
   * Sends a probe past health and queue, on a new connection. A node of the v3 layout writes each call without
   * credentials to its log as a failed login. One of releases 4 does not, and a worker asks the master about each token.
   * Release 5.0 answers ten calls a minute without a token.
   */
  readonly probe: Send = async (call) => {
    const { tokens } = this
    const account = tokens === undefined ? this.#options.accountOf(call) : undefined
    const token = this.#probesCarryTokens ? tokens?.atHand() : undefined
    const header = token === undefined ? account && (() => account.basic()) : () => token.header()
    const authorization = header ? { header, isRenewable: false } : ANONYMOUS
    const result = await this.#ports.stack().probe({ ...call, connection: 'new', authorization })
    if (!result.ok && result.fault === 'refusedCredentials' && token !== undefined) tokens?.atHand(token)
    return result
  }

  get #probesCarryTokens(): boolean {
    const release = this.#options.releaseOf(this.#node)
    return isRelease5(release) || (release === undefined && this.#options.setting.type === 'master')
  }
}
