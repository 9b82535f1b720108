//! Size errors on real clips, when `EVENKEEL_MEDIA_DIR` names a folder of them.
