/** What settings mean to operators: values as they are written, and the files that settings name. */

/** Values as they are written in the configuration. */
export interface SettingChange {
  readonly setting: string
  readonly from: string
  readonly to: string
}

/** A certificate that the edge uses. */
export interface CertificateState {
  /** The setting that names its file. */
  readonly setting: string
  /** End of its validity, in milliseconds since 1970. */
  readonly validTo: number
}
