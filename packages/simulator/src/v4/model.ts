/** Calls of the v4 API as data, and requests as their handlers receive them. */
import type { SimAgent, SimNode, World } from '../model.ts'
import type { Answer, Texts as AnswerTexts } from './answers.ts'
import type { Fields } from './bodies.ts'
import type { Accepted } from './operations/index.ts'
import type { Texts } from './parameters.ts'
import type { Action, ResourceType, Rights } from './rbac/access.ts'
import type { Security, Session } from './rbac/security.ts'
import type { Tasks } from './tasks.ts'

/** A request after all checks of the API. */
export interface Asked {
  readonly world: World
  /** The node that executes the call. */
  readonly node: SimNode
  readonly params: Texts
  readonly query: Texts
  /** The fields of a JSON body. */
  readonly fields: Fields
  /** The text of an upload. */
  readonly text: string
  readonly session: Session
  readonly rights: Rights
  readonly security: Security
  readonly tasks: Tasks
  /** Whether the user may do what the call does with an agent. */
  allows(agent: SimAgent): boolean
  /** Whether the user may do what the call does with another object. */
  allowsNamed(id: string): boolean
}

/** A permission that a call needs, and where the names of its objects are. */
export interface Need {
  readonly action: Action
  readonly type: ResourceType
  /**
   * `path`, `query`, `body`: the parameter with the names; without one in the query, the answer is cut to what is
   * allowed. `node`: the node of the path, else the one that is asked. `whole`: the call itself.
   */
  readonly named: { readonly in: 'path' | 'query' | 'body'; readonly as: string } | 'node' | 'whole' | 'none'
}

/**
 * Which nodes execute a call: the asked one, the master, the node that the agent of the path reports to, the nodes of
 * the agents of `agents_list`, the node of the path, or those of `nodes_list`.
 */
export type Runs = 'here' | 'master' | 'owner' | 'owners' | 'node' | 'nodes'

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With parameters in braces. What it accepts is in `operations`. */
  readonly path: string
  /** The minor version since which a success has status 202. Absent: it has 200. */
  readonly acceptedSince?: number
  readonly runs: Runs
  readonly needs: readonly Need[]
  /** Messages of the answer; some name an object of the request. */
  readonly texts: AnswerTexts | ((asked: Pick<Asked, 'params' | 'query'>) => AnswerTexts)
  /** Is answered while the node restarts. */
  readonly duringRestart?: true
  /** Is executed in the API process itself, so it is answered while the executing process hangs. */
  readonly inApi?: true
  /** The API caches the response for 0.75 s, for all users together. */
  readonly cached?: true
  /** Letters of `search` over which the executing process hangs for good. */
  readonly hangsOver?: number
  /** Milliseconds of processor time; default 9. */
  readonly cost?: number
  /** Whether the API fails with 500 and no code for a body. */
  readonly crashes?: (body: string) => boolean
  /** Returns the agents that the call concerns. Absent: those of `agents_list`. */
  readonly agents?: (asked: Omit<Asked, 'node'>) => readonly string[]
  readonly run: (asked: Asked) => Answer
}

/** A call with what its release accepts. */
export type Operation = Call & Accepted

/** Texts of calls that answer data or a message only. */
export const NO_TEXTS: AnswerTexts = { all: '', some: '', none: '' }
