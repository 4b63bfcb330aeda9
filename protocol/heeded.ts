import type { ChangedSettings, LiveKey, LiveSettings } from '../src/config/live-settings.ts'

/** An actor's settings that were changed while it lives, and who in it heeds which. */
export class Heeded {
  #changed: ChangedSettings = {}
  readonly #heeding: ((changed: ChangedSettings) => void)[] = []

  change(changed: ChangedSettings): void {
    this.#changed = { ...this.#changed, ...changed }
    for (const heed of this.#heeding) heed(changed)
  }

  /** What was changed before is told at once. */
  heed<K extends LiveKey>(key: K, heed: (value: LiveSettings[K]) => void): void {
    const heeding = (changed: ChangedSettings) => {
      const value: LiveSettings[K] | undefined = changed[key]
      if (value !== undefined) heed(value)
    }
    this.#heeding.push(heeding)
    heeding(this.#changed)
  }
}
