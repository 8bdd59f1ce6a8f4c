/** A small part of the MITRE ATT&CK knowledge base, as the nodes store it. */
import { createHash } from 'node:crypto'
import type { Item } from '../collection.ts'
import data from './mitre.json' with { type: 'json' }

export type MitreTable = 'groups' | 'mitigations' | 'references' | 'software' | 'tactics' | 'techniques'

const prefixes = {
  tactics: 'x-mitre-tactic',
  techniques: 'attack-pattern',
  mitigations: 'course-of-action',
  groups: 'intrusion-set',
  software: 'tool',
} as const

type Kind = keyof typeof prefixes

/** Returns the id of an object in the knowledge base: a UUID that follows from its short id. */
function idOf(kind: Kind, external: string): string {
  const hex = createHash('md5').update(external).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)]
  return `${prefixes[kind]}--${parts.join('-')}`
}

const idsOf = (kind: Kind, externals: readonly string[]) => externals.map((external) => idOf(kind, external))

/** Returns the ids of the objects of a kind that use a technique. */
function users(kind: 'mitigations' | 'groups' | 'software', technique: string): string[] {
  const found = (data[kind] as [string, string, string[]][]).filter(([, , techniques]) =>
    techniques.includes(technique),
  )
  return idsOf(
    kind,
    found.map(([external]) => external),
  )
}

function common(kind: Kind, external: string, name: string) {
  const url = `https://attack.mitre.org/${kind}/${external.replace('.', '/')}`
  return {
    id: idOf(kind, external),
    name,
    description: `${name}, as the knowledge base describes it.`,
    created_time: '2017-05-31T21:30:19.000Z',
    modified_time: '2023-04-25T14:00:00.188Z',
    references: [{ url, description: null, source: 'mitre-attack' }],
    url,
    source: 'mitre-attack',
    external_id: external,
  }
}

const VERSIONED = { mitre_version: '1.0', deprecated: 0 }

const tactics = data.tactics.map(([external = '', name = '', short = '']) => ({
  ...common('tactics', external, name),
  short_name: short,
  techniques: (data.techniques as [string, string, string[]][])
    .filter(([, , own]) => own.includes(external))
    .map(([technique]) => idOf('techniques', technique)),
}))

const techniques = (data.techniques as [string, string, string[]][]).map(([external, name, own]) => ({
  ...common('techniques', external, name),
  ...VERSIONED,
  remote_support: 0,
  network_requirements: 0,
  ...(external.includes('.') && { subtechnique_of: idOf('techniques', external.split('.')[0] ?? '') }),
  tactics: idsOf('tactics', own),
  mitigations: users('mitigations', external),
  groups: users('groups', external),
  software: users('software', external),
}))

const mitigations = (data.mitigations as [string, string, string[]][]).map(([external, name, own]) => ({
  ...common('mitigations', external, name),
  ...VERSIONED,
  techniques: idsOf('techniques', own),
}))

const software = (data.software as [string, string, string[], string[]][]).map(([external, name, own, by]) => ({
  ...common('software', external, name),
  ...VERSIONED,
  techniques: idsOf('techniques', own),
  groups: idsOf('groups', by),
}))

const groups = (data.groups as [string, string, string[]][]).map(([external, name, own]) => ({
  ...common('groups', external, name),
  ...VERSIONED,
  techniques: idsOf('techniques', own),
  software: software.filter((one) => one.groups.includes(idOf('groups', external))).map(({ id }) => id),
}))

const references = [...tactics, ...techniques, ...mitigations, ...groups, ...software].map((row) => {
  const { id, url, source, external_id } = row
  return { id, source, external_id, url, description: null }
})

export const mitreRows: Readonly<Record<MitreTable, readonly Item[]>> = {
  groups,
  mitigations,
  references,
  software,
  tactics,
  techniques,
}

export const mitreMetadata: readonly Item[] = data.metadata
