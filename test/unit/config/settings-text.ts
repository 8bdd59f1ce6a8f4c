/** A valid configuration as text, and functions that change parts of it. */
const valid = {
  listen: 'host: 127.0.0.1',
  cluster: `nodes: [{ name: m, type: master, url: 'https://10.0.0.1:55000' }]
  credentials: { username: edge, password: 'long and its own' }`,
  access: 'users: users',
}

/** Returns a configuration. `listen:` is line 1; `cluster` begins in line 4, `access` in line 7, `more` in line 8. */
export function file(parts: Partial<typeof valid> & { more?: string }): string {
  const { listen, cluster, access } = { ...valid, ...parts }
  return `listen:\n  ${listen}\ncluster:\n  ${cluster}\naccess:\n  ${access}\n${parts.more ?? ''}`
}

export const master = "{ name: m, type: master, url: 'https://a' }"

/** Returns a `cluster` with these nodes. */
export const nodes = (list: string) =>
  `nodes: [${list}]\n  credentials: { username: edge, password: 'long and its own' }`

/** Returns a `cluster` with these credentials. */
export const account = (text: string) => `nodes: [${master}]\n  credentials: { ${text} }`

/** Returns a `cluster` with one more group. */
export const withGroup = (text: string) => `${valid.cluster}\n  ${text}`

export type Row = readonly [name: string, text: string, fault: string]
