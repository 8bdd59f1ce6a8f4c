export interface V3Request {
  /** Method and path template of the record. */
  readonly endpoint: string
  readonly params: Readonly<Record<string, string>>
  /** `true`: a flag, which has no value. */
  readonly query: Readonly<Record<string, string | true>>
  readonly body?: { readonly type: string; readonly text: string }
  /** The node that is called. */
  readonly asked: string
}

/** `reason`: why no v3 request gives this call. */
export type Derived =
  | { readonly kind: 'request'; readonly request: V3Request }
  | { readonly kind: 'none'; readonly reason: Reason }

/** Why there is no v3 request for a call. The replay counts the exchanges of each reason. */
export const reasons = {
  noSuchCall: 'the node has no such path, method or parameter, so the edge never makes the call',
  v3Word: 'a value in its v3 form, which the edge translates',
  flag: 'a flag with another value than true or false: the edge sends true',
  padded: 'an agent id that has not three digits: the edge sends three',
  pages: 'more log lines than the node returns at once: the edge asks for pages',
  leftOut: 'agents that do not exist or have no inventory: the edge leaves them out of the list',
  offset: 'an offset, which the node applies to each agent: the edge asks for the first rows',
  polled: 'an upgrade in progress: the edge asks again until it ends',
  emptyValue: 'a parameter without a value, which the node ignores: the edge sends none',
  mediaType: 'a media type, or a body that is no JSON object: the edge converts forms and sends JSON, XML and octets',
  severalTargets: 'several targets where the v3 endpoint has one',
  incomplete: 'a parameter is missing that the edge always sends',
  onlyV4: 'a parameter or a word that only the v4 layout has',
  form: 'a body field in a form that no v3 field gives',
  placeholder: 'the recording has only the size of the body',
  cache: 'the edge answers /cache itself',
  aboutWorker: 'what a worker says of itself; the v3 request is about the master',
  ownRestart: 'the edge restarts a worker through the master',
  unfilteredAgents: 'all agents without a list of ids: the edge sends a list',
} as const
export type Reason = keyof typeof reasons
