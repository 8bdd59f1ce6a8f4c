/**
 * Requests whose status, code, form of data or total differs in front of the v4 layout. Each row must occur, and
 * nothing else may differ. docs/contract-decisions.md ("In front of releases 4.x") has all that clients can notice.
 */
export interface Known {
  /** Endpoint and what is special in the request. */
  readonly requests: RegExp
  readonly difference: string
  readonly why: string
}

export const knownDifferences: readonly Known[] = [
  {
    requests: /^GET \/(?:manager|cluster\/:node_id)\/configuration \?section=open-scap$/,
    difference: 'object → 200/1106',
    why: 'the settings of releases 4.x have no such section',
  },
  {
    requests: /^GET \/agents\/:agent_id\/upgrade_result (?:\?timeout|plain)$/,
    difference: '200/3021 → 200/1716',
    why: 'a node returns at once that there is no task; a v3 one waits for the agent',
  },
  {
    requests: /^PUT \/agents\/:agent_id\/upgrade (?:\?wpk_repo|\?use_http|\?force=0|plain)$/,
    difference: 'text → 200/1716',
    why: 'a node refuses the upgrade of an agent that has its release',
  },
  {
    requests: /^GET \/(?:rules|decoders) \?select$/,
    difference: '200/1000 → collection',
    why: 'the node cuts the rows',
  },
  {
    requests: /^GET \/(?:rules|decoders) \?select of an unknown field$/,
    difference: '200/1000 → 200/1724',
    why: 'as above',
  },
  {
    requests: /^GET \/rootcheck\/:agent_id\/(?:cis|pci) \?q(?: of an unknown field)?$/,
    difference: '200/1000 → 200/1408',
    why: 'the node checks the fields',
  },
  {
    requests: /^GET \/rootcheck\/:agent_id(?:\/pci)? (?:plain|\?(?:pci|offset|limit|search))$/,
    difference: 'another total',
    why: 'several requirements of one finding are one text there, and the search covers the findings',
  },
  {
    requests: /^PUT \/agents\/:agent_id\/restart :agent_id unknown$/,
    difference: '200/1701 → object',
    why: 'the node returns the agent among those that failed',
  },
  {
    requests: /^DELETE \/agents\/:agent_id\/group (?:plain|an unknown parameter)$/,
    difference: 'text → 200/1745',
    why: 'an agent that has only the default group keeps it',
  },
  {
    requests: /^GET \/experimental\/(?:ciscat|syscollector)\/\w+ /,
    difference: 'another total',
    why: 'workers have no agent 000 there, and scans of agents since 4.0 have other values',
  },
  {
    requests: /^GET \/agents \?version$/,
    difference: 'another total',
    why: 'the simulated agents have the release of their manager',
  },
  {
    requests: /^GET \/agents\/outdated \?select of an unknown field$/,
    difference: 'collection → 200/1724',
    why: 'the simulated v3 nodes do not check the fields of this collection',
  },
  {
    requests: /^GET \/agents\/outdated \?limit$/,
    difference: 'another total',
    why: 'agents that are not outdated are filtered out before the page is cut',
  },
]
