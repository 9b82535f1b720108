#!/usr/bin/env python3
"""Joins `evenkeel call --web` with aiortc for some seconds: video both ways by WHIP, or one way by WHEP.

    aiortc_peer.py URL TOKEN SECONDS        URL ends in /whip or /whep; prints the pictures decoded and sent as JSON
"""

import asyncio
import json
import sys
import urllib.parse
import urllib.request

import aiortc
from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.contrib.media import MediaBlackhole
from aiortc.mediastreams import VideoStreamTrack


class Counted(VideoStreamTrack):
    """A still picture, 30 times a second."""

    sent = 0

    async def recv(self):
        self.sent += 1
        return await super().recv()


async def count(track, counted):
    while True:
        await track.recv()
        counted["decoded"] += 1


async def main(url, token, seconds):
    counted = {"version": aiortc.__version__, "decoded": 0}
    connection, camera, tasks = RTCPeerConnection(), Counted(), []
    connection.on("track", lambda track: tasks.append(asyncio.ensure_future(count(track, counted))))
    plays = url.endswith("/whep")
    transceiver = connection.addTransceiver("video" if plays else camera, direction="recvonly" if plays else "sendrecv")
    codecs = RTCRtpSender.getCapabilities("video").codecs
    transceiver.setCodecPreferences([codec for codec in codecs if codec.mimeType == "video/H264"])
    await connection.setLocalDescription(await connection.createOffer())
    headers = {"content-type": "application/sdp", "authorization": f"Bearer {token}"}
    ask = urllib.request.Request(url, connection.localDescription.sdp.encode(), headers)
    with await asyncio.to_thread(urllib.request.urlopen, ask) as answer:
        session, text = answer.headers["location"], answer.read().decode()
    await connection.setRemoteDescription(RTCSessionDescription(text, "answer"))
    await asyncio.sleep(seconds)
    leave = urllib.request.Request(urllib.parse.urljoin(url, session), headers=headers, method="DELETE")
    counted["sent"] = camera.sent
    for task in tasks:
        task.cancel()
    with await asyncio.to_thread(urllib.request.urlopen, leave):
        await connection.close()
    print(json.dumps(counted))


asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
