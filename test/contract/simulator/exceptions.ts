/** Where the simulated v4 layout differs from the recorded cluster on purpose. */

/** Lines of the recording by the reason for which the simulated response has another status or other codes. */
const reasons: readonly (readonly [why: string, lines: readonly number[]])[] = [
  ['agent 004 had a row in the recorded database of agents, but had never connected', [258, 683, 1322]],
  ['the recorded nodes had osquery configured', [319, 320]],
  ['the simulated master runs daemons that the recorded one did not use', [330, 343, 344, 347, 348, 349]],
  ['no v3 endpoint is translated to this call', [1066]],
  ['the recorded response came from the cache of the node, which this replay switches off', [478]],
  ['the recorded node had created a database for agent 008 meanwhile', [731, 759, 786, 832, 857, 907, 934, 960]],
  ['an agent was not yet in the recorded database of agents', [1159, 1262]],
  ['a recorded worker knew the groups of agent 012 later than the master', [1183, 1191]],
  ['the decoder file existed on the recorded cluster before', [1218, 1242]],
  ['the recorded worker did not have the bad rule file of the master yet', [1236]],
  ['the recorded node asked for the agent 0961 by a shorter id too', [1293, 1305, 1328, 1334]],
  ['agent 001 restarted while it was recorded', [1345, 1362]],
  ['the recorded cluster had not noticed the loss of the node yet, or noticed it late', [1488, 1656]],
  ['an agent without a database was registered in the recorded cluster at that time', [1594]],
  ['the simulated ruleset is smaller', [1652, 1653, 1654, 1655]],
]

export const differentState: ReadonlyMap<number, string> = new Map(
  reasons.flatMap(([why, lines]) => lines.map((line) => [line, why] as const)),
)

/** Fields that depend on what agents and nodes have, and not on the API. */
export const differentContent: readonly { readonly calls: RegExp; readonly fields: RegExp; readonly why: string }[] = [
  {
    calls: /^GET \/(?:agents|overview|syscollector)/,
    fields: /\.os\.(?:build|minor): string$|last_registered_agent\[\]\.disconnection_time/,
    why: 'systems of agents, and which agent is the last one',
  },
  {
    calls: /\/configuration(?:\/|$)|\/config\//,
    fields: /^data\.(?:affected_items\[\](?:$|[.:])|[a-z-]+(?:\[\])?\.)/,
    why: 'options of the recorded configuration files and daemons',
  },
  {
    calls: /^GET \/groups\/.*\/json$/,
    fields: /^data(?:\.vars|\.controls)?\[?\]?\./,
    why: 'files of the recorded groups',
  },
  { calls: /\/logs\/summary$/, fields: /^data\.affected_items\[\]\./, why: 'daemons that wrote lines' },
  { calls: /^GET \/lists\/files\//, fields: /^data\.affected_items\[\]\./, why: 'keys of the list' },
  {
    calls: /^GET \/(?:rules|decoders)/,
    fields: /^data\.affected_items\[\]\.(?:details\.|(?:tsc|mitre)\[\])/,
    why: 'options that occur in the ruleset',
  },
  {
    calls: /^GET \/sca\/.*\/checks\//,
    fields: /\.(?:command|file|references): string$/,
    why: 'what the first checks of the policies look at',
  },
  {
    calls: /^GET \/experimental\/syscollector/,
    fields: /\.(?:source|argvs): string$/,
    why: 'options of the first packages and processes',
  },
  {
    calls: /^(?:PUT \/(?:cluster\/\{node\}\/configuration|agents\/upgrade_custom)|DELETE \/decoders\/files)/,
    fields: /^data\.affected_items\[\]/,
    why: 'the request failed in one of the clusters, see the lines above',
  },
  { calls: /^GET \/manager\/configuration\/(?:agentless|csyslog|integrator|mail)\//, fields: /./, why: 'as above' },
]
