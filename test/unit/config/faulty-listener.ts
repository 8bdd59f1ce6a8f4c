/** Configurations with one fault in the listener, the log or the file itself, and the message of each. */
import { file, type Row, withGroup } from './settings-text.ts'

const listen = (text: string) => file({ listen: text })
const duration = 'must be a duration such as 750ms, 30s or 2m, got'
const durationOrZero = 'must be a duration such as 750ms, 30s or 2m, or 0ms, got'
const size = 'must be a size such as 512B, 16KiB or 64MiB, got'
const origin = 'must be an origin such as https://console.example, got'
const groups = 'known here: replica, listen, operations, cluster, cache, access, audit, traces, log'
const bomb = [
  'a: &a [x,x,x,x,x,x,x,x,x]',
  ...[...'bcdefgh'].map((c, i) => `${c}: &${c} [${`*${'abcdefg'[i]},`.repeat(9)}]`),
]

export const front: readonly Row[] = [
  [
    'a number in quotes',
    listen('port: "80"'),
    'edge.yaml:2:9 listen.port: must be an integer, got "80"; write it without quotes',
  ],
  ['not a number', listen('port: many'), 'edge.yaml:2:9 listen.port: must be an integer, got "many"'],
  ['a port too high', listen('port: 70000'), 'edge.yaml:2:9 listen.port: must be at most 65535, got 70000'],
  [
    'the v4 contract in front of v3 nodes',
    listen('contract: v4'),
    'edge.yaml:2:13 listen.contract: serves the v4 contract, which nodes of the v3 layout cannot answer; set cluster.layout to v4 or auto, or remove this setting',
  ],
  [
    'a second port in front of v3 nodes',
    listen('secondPort: 55002'),
    'edge.yaml:2:15 listen.secondPort: serves the v4 contract, which nodes of the v3 layout cannot answer; set cluster.layout to v4 or auto',
  ],
  [
    'both in front of v3 nodes',
    listen('{ contract: v4, secondPort: 55002 }'),
    'edge.yaml:2:15 listen.contract: serves the v4 contract',
  ],
  [
    'one port for both contracts',
    file({ listen: 'secondPort: 55000', cluster: withGroup('layout: v4') }),
    'edge.yaml:2:15 listen.secondPort: 55000 is also listen.port; choose another one',
  ],
  [
    'the second port is that of the operations listener',
    file({ listen: 'secondPort: 55001', cluster: withGroup('layout: auto') }),
    'edge.yaml:1:1 operations.port: 55001 is also the port of listen; choose another one',
  ],
  [
    'a limit of nothing',
    listen('limits: { pipelined: 0 }'),
    'edge.yaml:2:24 listen.limits.pipelined: must be at least 1, got 0',
  ],
  ['no unit of time', listen('timeouts: { idle: 72 }'), `edge.yaml:2:21 listen.timeouts.idle: ${duration} 72`],
  ['no time at all', listen('timeouts: { idle: 0s }'), 'edge.yaml:2:21 listen.timeouts.idle: must be more than 0'],
  [
    'beyond the timers of Node',
    listen('timeouts: { idle: 1000h }'),
    `edge.yaml:2:21 listen.timeouts.idle: ${duration} "1000h"`,
  ],
  ['no unit of a time that may be zero', listen('drain: { delay: 5 }'), `listen.drain.delay: ${durationOrZero} 5`],
  ['no bytes at all', listen('limits: { url: 0B }'), 'edge.yaml:2:18 listen.limits.url: must be more than 0'],
  ['no unit of size', listen('limits: { url: 8192 }'), `edge.yaml:2:18 listen.limits.url: ${size} 8192`],
  ['another unit of size', listen('limits: { url: 8kb }'), `edge.yaml:2:18 listen.limits.url: ${size} "8kb"`],
  [
    'a host with a port',
    listen("host: '127.0.0.1:80'"),
    'edge.yaml:2:9 listen.host: must be a host name or an address, without a port, got "127.0.0.1:80"',
  ],
  [
    'a mapped range',
    listen("trustedProxies: ['::ffff:10.0.0.0/8']"),
    'edge.yaml:2:20 listen.trustedProxies[0]: must be an address or a range such as 10.0.0.0/8 or fd00::/8 (an IPv4 range in IPv4 form, never ::ffff:…), got "::ffff:10.0.0.0/8"',
  ],
  [
    'no range',
    listen('trustedProxies: [10.0.0.0/33]'),
    'edge.yaml:2:20 listen.trustedProxies[0]: must be an address or a range',
  ],
  [
    'everybody is trusted',
    listen('trustedProxies: [10.0.0.5, 0.0.0.0/0]'),
    'edge.yaml:2:30 listen.trustedProxies[1]: 0.0.0.0/0 would let every client choose its own address; name the addresses of your balancers',
  ],
  [
    'an origin with a path',
    listen("cors: { origins: ['https://a/b'] }"),
    `edge.yaml:2:21 listen.cors.origins[0]: ${origin} "https://a/b"`,
  ],
  ['every origin', listen("cors: { origins: ['*'] }"), `edge.yaml:2:21 listen.cors.origins[0]: ${origin} "*"`],
  ['half a pair', listen('tls: { cert: users }'), 'edge.yaml:2:8 listen.tls.key: is missing; write it'],
  ['TLS that is on', listen('tls: on'), 'edge.yaml:2:8 listen.tls: must be off, or a group of cert and key, got "on"'],
  [
    'passwords in clear',
    listen('host: 0.0.0.0'),
    'edge.yaml:2:9 listen.host: 0.0.0.0 without TLS would send passwords in clear; set listen.tls.cert and listen.tls.key, or set listen.tls: off if a balancer in front terminates TLS',
  ],
  [
    'passwords of operators in clear',
    file({ more: 'operations: { host: 0.0.0.0 }' }),
    'edge.yaml:8:21 operations.host: 0.0.0.0 without TLS would send passwords in clear; set operations.tls.cert and operations.tls.key, or set operations.tls: off if only trusted operators use that network',
  ],
  [
    'a delay beyond the limit',
    listen('drain: { delay: 40s }'),
    'edge.yaml:2:19 listen.drain.delay: is longer than listen.drain.limit; shorten it, or raise the limit',
  ],
  ['an unknown key', listen('prot: 80'), 'edge.yaml:2:3 listen.prot: is not a setting; did you mean "port"?'],
  [
    'one port for two',
    file({ more: 'operations: { port: 55000 }' }),
    'edge.yaml:8:21 operations.port: 55000 is also the port of listen; choose another one',
  ],
  [
    'an unknown group',
    file({ more: 'mirror: { enabled: true }' }),
    `edge.yaml:8:1 mirror: is not a setting; ${groups}`,
  ],
  [
    'a key that all objects have',
    file({ more: '__proto__: { polluted: true }' }),
    `edge.yaml:8:1 __proto__: is not a setting; ${groups}`,
  ],
  [
    'a list in place of a group',
    file({ more: 'log: [info]' }),
    'edge.yaml:8:6 log: must be a group of settings, got ["info"]',
  ],
  [
    'none of the words',
    file({ more: 'log: { level: loud }' }),
    'edge.yaml:8:15 log.level: must be one of fatal, error, warn, info, debug, trace, silent, got "loud"',
  ],
  [
    'an audit without a destination',
    file({ more: 'log: { level: silent }' }),
    'edge.yaml:8:15 log.level: silent discards the audit, and audit.onFailure: refuse would refuse every write; set audit.file, or choose another level',
  ],
  ['a key twice', file({ more: 'log: {}\nlog: {}' }), 'edge.yaml:9:1: this key is written twice; keep one'],
  ['no YAML', 'listen: [', 'edge.yaml:1:10: not YAML:'],
  ['a tag', 'listen: !!js/function x', 'edge.yaml:1:9: not YAML:'],
  ['another document', 'just words', 'edge.yaml: must be a group of settings such as "listen: { port: 55000 }"'],
  ['an alias bomb', bomb.join('\n'), 'edge.yaml: expands too many aliases; write the values out'],
]
