export const agreesWithModel = (): string[] => [];
